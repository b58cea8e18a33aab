"""The papers' tables measured again: what each prints, how it is measured here, and a verdict on every figure."""
