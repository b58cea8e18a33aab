"""The evaluation tasks, a file each; `registry` lists them and the suites they make up."""
