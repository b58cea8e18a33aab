"""Calibrations under which the pairs of a few texts are rarer than they are, as they would be of other texts."""

import json
from pathlib import Path

import numpy as np

from likewise.calibrate import Calibration


def make_pairs_rarer(path: Path, p: float = 1e-4, than: float = 0.1) -> None:
    """Shift a calibration's cosines: what `than` of the chance pairs reached, a share of `p` reaches."""
    own = Calibration.load(path)
    found, shift = own.as_json(), own.chance.cosine_at(p) - own.chance.cosine_at(than)
    found["chance"]["cosines"] = (np.array(found["chance"]["cosines"]) - shift).tolist()
    path.write_text(json.dumps(found))
