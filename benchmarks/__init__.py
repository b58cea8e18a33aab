"""Benchmarks: each file answers one question; results/ contains the latest results, with date, machine and commit."""
