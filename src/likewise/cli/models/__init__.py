"""Commands about models: list, describe, download, dissect, fuse, quantize."""
