"""How each library encodes texts. Each module has `load(spec)`, which imports the library when it is called.

What it returns has `packages`: the names of the packages whose versions are reported.
"""
