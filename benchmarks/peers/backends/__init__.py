"""How each library encodes texts. Each module has `load(spec)`, which imports the library when it is called, and its
result `packages`, whose versions are reported.
"""
