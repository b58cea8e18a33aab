"""The evaluation tasks, one kind per file; `registry` lists the tasks and their suites."""
