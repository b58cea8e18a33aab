"""The arena: every engine of ours and of others in turn in one run, each in its own process."""
