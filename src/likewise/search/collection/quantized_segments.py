"""Full segments in int8 or one bit a number: what a search scans before it compares the best in full."""

from pathlib import Path

import numpy as np

from ...arrays.quantization import BitVectors, Int8Vectors, quantize_bits, quantize_int8
from ...native.scanning import available
from .storage.derived_files import derived_path, map_arrays, write_arrays
from .storage.snapshot import SegmentRows

SCANS = ("int8", "bits", "exact")
"""What is scanned: the vectors in int8 or one bit a number, of which the best are compared in full; or in full all."""
Quantized = Int8Vectors | BitVectors


class QuantizedSegments:
    """The quantized vectors of each full segment, made when they are first needed and kept in a file.

    Without the compiled library nothing is quantized: NumPy is no faster for it.
    """

    def __init__(self, folder: Path, scan: str) -> None:
        self.folder, self.scan = folder, scan
        self._known: dict[int, Quantized] = {}

    def of(self, segment: SegmentRows) -> Quantized | None:
        """The quantized vectors of a segment; None: all are to be compared in full."""
        if self.scan == "exact" or not segment.is_full or not available():
            return None
        if segment.number not in self._known:
            self._known[segment.number] = self._kept(segment) or self._made(segment)
        return self._known[segment.number]

    def forget(self, numbers: set[int]) -> None:
        """Keep in memory only what belongs to these segments."""
        self._known = {number: known for number, known in self._known.items() if number in numbers}

    def _path(self, segment: SegmentRows) -> Path:
        return derived_path(self.folder, segment.number, self.scan)

    def _kept(self, segment: SegmentRows) -> Quantized | None:
        arrays = map_arrays(self._path(segment))
        if arrays is None or len(arrays["codes"]) != segment.rows:
            return None
        if self.scan == "bits":
            return BitVectors(np.asarray(arrays["codes"]), segment.vectors.shape[1])
        return Int8Vectors(np.asarray(arrays["codes"]), np.asarray(arrays["scales"]))

    def _made(self, segment: SegmentRows) -> Quantized:
        made = quantize_bits(segment.vectors) if self.scan == "bits" else quantize_int8(segment.vectors)
        scales = {"scales": made.scales} if isinstance(made, Int8Vectors) else {}
        write_arrays(self._path(segment), {"codes": made.codes, **scales})
        return made
