"""Each file answers one question; results/ has its latest figures, with date, machine and commit."""
