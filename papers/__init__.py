"""The lab: remeasures the papers' tables, with a verdict on every figure, and has recipes that train their models."""
