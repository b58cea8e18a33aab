"""`likewise doctor`: what is installed here, what the machine has, and whether it works."""
