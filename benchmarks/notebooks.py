"""Executes the notebooks in examples/notebooks: writes their outputs, or compares them with the committed ones.

    LIKEWISE_DATA=data python -m benchmarks.notebooks [NAME…]      # writes; nbclient and ipykernel: make notebooks

A notebook runs in an empty folder, in a kernel of this Python. Its metadata set the relative `tolerance` of numbers.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""The metadata to write: without the versions of Python and the kernel, on which the outputs do not depend."""
TIMEOUT = 600  # seconds that a cell, or the start of the kernel, may take on a busy machine

Notebook = dict[str, Any]


def executed(path: Path) -> Notebook:
    """Run a notebook and return it with fresh outputs; raise if a cell fails, warns or prints to stderr."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    tolerance = notebook.metadata["tolerance"]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=TIMEOUT,
            startup_timeout=TIMEOUT,
            coalesce_streams=True,  # how a stream is split into outputs depends on timing
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    notebook.metadata = nbformat.from_dict({**METADATA, "tolerance": tolerance})
    nbformat.validate(notebook)
    for cell in code_cells(notebook):
        errors = [output["text"] for output in cell["outputs"] if output.get("name") == "stderr"]
        if errors:
            raise ValueError(f"{path.name} printed to stderr: {''.join(errors)}")
    return notebook


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def differences(committed: Notebook, fresh: Notebook) -> list[str]:
    """Describe where the outputs of two runs of a notebook differ; images are compared only by type."""
    cells, again = code_cells(committed), code_cells(fresh)
    if len(cells) != len(again):
        return [f"the committed notebook has {len(cells)} code cells, the fresh one {len(again)}"]
    tolerance = committed["metadata"]["tolerance"]
    shown = [(k, printed(a), printed(b)) for k, (a, b) in enumerate(zip(cells, again, strict=True), 1)]
    return [f"[{k}] committed:\n{a}\nnow:\n{b}" for k, a, b in shown if not alike(a, b, tolerance)]


def printed(cell: dict[str, Any]) -> str:
    """Return a cell's text outputs, and the types of its other outputs."""
    parts = []
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        pictures = sorted(kind for kind in data if kind.startswith("image/"))
        parts.append(" ".join(pictures) if pictures else "".join(data["text/plain"]))
    return "\n".join(parts)


def alike(a: str, b: str, tolerance: float) -> bool:
    """Whether texts are equal except for whitespace, with numbers within `tolerance` or one unit of the last digit."""
    if "".join(NUMBER.sub("#", a).split()) != "".join(NUMBER.sub("#", b).split()):
        return False
    return all(near(x, y, tolerance) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True))


def near(a: str, b: str, tolerance: float) -> bool:
    x, y = (float(number.replace(",", "")) for number in (a, b))
    last_digit = 10.0 ** -len(a.partition(".")[2]) if "." in a else 0.0
    return abs(x - y) <= max(tolerance * max(x, y), 1.001 * last_digit)


def main(names: list[str]) -> None:
    import nbformat

    for path in NOTEBOOKS:
        if not names or path.stem in names:
            nbformat.write(executed(path), path)
            print(path.name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
