"""Encode more texts than fit into memory, into shards on disk that survive a crash."""
