"""Commands about models: list, describe, download, dissect, fuse, select-layers, quantize."""
