"""What a collection has on the disk: the journal, segments of rows, derived files, the lock; and a snapshot of it."""
