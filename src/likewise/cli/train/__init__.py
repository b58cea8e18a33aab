"""`likewise train`: its configuration, the plan of a dry run, and the run itself."""
