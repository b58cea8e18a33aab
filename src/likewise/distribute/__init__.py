"""Encoding more texts than fit into memory, into shards on disk that survive whatever ends the process."""
