"""python -m likewise: the command, also under torchrun."""

import sys

from .cli import main

sys.exit(main())
