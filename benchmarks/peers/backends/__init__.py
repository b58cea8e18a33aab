"""How each library encodes texts. Each module defines `load(spec)`, which imports the library when it is called.

The object that `load` returns has an attribute `packages`: the names of the packages whose versions are reported.
"""
