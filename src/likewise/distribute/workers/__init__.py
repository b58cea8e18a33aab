"""Parallel encoding of a job's shards: by processes on this machine, or actors in a Ray cluster."""
