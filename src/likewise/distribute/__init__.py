"""Encode more texts than fit in memory, into shards on disk that survive a crash."""
