"""Engines, which compute vectors, one package per engine."""
