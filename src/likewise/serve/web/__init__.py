"""HTTP without any model code: read and check bodies, format errors for each API, and write replies."""
