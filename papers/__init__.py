"""The lab: the papers' tables measured again with a verdict on every figure, and recipes that train their models."""
