"""Engines that compute vectors, one package per engine."""
