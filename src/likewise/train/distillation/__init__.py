"""Distillation: a teacher's vectors and scores as training columns."""
