"""The installed size of packages and all their dependencies in MB.

python -m benchmarks.peers.installed PACKAGE …   prints the size, the packages counted and those missing as JSON
"""

import json
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(packages: Sequence[str]) -> tuple[dict[str, Distribution], list[str]]:
    """Return these packages and their installed dependencies by name, and the names of packages not installed."""
    found: dict[str, Distribution] = {}
    missing, pending = [], list(packages)
    while pending:
        name = canonicalize_name(pending.pop())
        if name in found or name in missing:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        pending += [required for line in found[name].requires or [] if (required := needed(line))]
    return found, missing


def needed(requirement: str) -> str | None:
    """Return the package name in a requirement; None if it applies only to an extra or another system."""
    parsed = Requirement(requirement)
    return parsed.name if parsed.marker is None or parsed.marker.evaluate({"extra": ""}) else None


def megabytes(package: Distribution) -> float:
    """Return the size of the files that pip lists for a package, without bytecode, whose compilation is optional."""
    return size(Path(str(package.locate_file(file))) for file in package.files or [])


def folder_megabytes(folder: Path) -> float:
    """Return the size in MB of the files in a folder, without bytecode."""
    return size(folder.rglob("*"))


def size(paths: Iterable[Path]) -> float:
    """Return the total size in MB of the paths that are files, except compiled bytecode."""
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file()) / 1e6


def report(packages: Sequence[str]) -> dict[str, Any]:
    """Report sizes by package, largest first."""
    found, missing = closure(packages)
    sizes = {name: round(megabytes(package), 1) for name, package in found.items()}
    ordered = dict(sorted(sizes.items(), key=lambda item: -item[1]))
    versions = {name: package.version for name, package in found.items()}
    return {"mb": round(sum(sizes.values()), 1), "packages": ordered, "versions": versions, "missing": missing}


if __name__ == "__main__":
    print(json.dumps(report(sys.argv[1:])))
