"""One question a file; results/ holds what each printed last, with date, machine and commit."""
