"""The evaluation tasks, one kind per file; `registry` lists them and their suites."""
