"""Parallel encoding of a job's shards: in processes on this machine, or in actors in a Ray cluster."""
