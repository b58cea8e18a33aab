"""Engines, which compute vectors: one package each."""
