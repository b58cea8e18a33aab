"""Who encodes a job's shards where one process is not enough: processes of this machine, actors of a Ray cluster."""
