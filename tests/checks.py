"""How types are checked in the tests: by beartype, for whom an int may stand where a float is wanted."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
