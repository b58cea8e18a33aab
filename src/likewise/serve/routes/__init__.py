"""Thin handlers for each API: they turn a request into a job or a call, and its result into the API's response."""
