"""A software bill of materials of likewise and of each extra, in CycloneDX's JSON, from the metadata of packages.

python -m release.sbom WHEEL --site .venv/lib/python3.11/site-packages --into dist/sbom

One file for the core and one for each extra: likewise, its bundled models, and every package that these need, directly
or not. likewise pins no versions: those written are the ones found in the folders `--site`, the first that has a
package winning; a package that is in none of them is listed without a version and marked. The same wheel and folders
give the same bytes.
"""

import argparse
import hashlib
import json
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SPECIFICATION = "1.6"
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/likewise")
WEIGHTS = "likewise/bundled/*/model.safetensors"
Json = dict[str, Any]


@dataclass(frozen=True)
class Package:
    """A package by its metadata.

    Attributes:
        version: None if it is not installed.
        licence: what its metadata says of it, as CycloneDX writes it.
        requirements: as its metadata has them, markers included.
    """

    name: str
    version: str | None
    licence: tuple[Json, ...] = ()
    requirements: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """Its package URL, by which a bill of materials refers to it."""
        return f"pkg:pypi/{self.name}" + (f"@{quote(self.version)}" if self.version else "")


def main(argv: Sequence[str] | None = None) -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m release.sbom", description=__doc__.split("\n\n")[0])
    parser.add_argument("wheel", type=Path, help="the wheel of likewise that is described")
    parser.add_argument("--site", type=Path, action="append", required=True, help="a folder site-packages; repeatable")
    parser.add_argument("--into", type=Path, default=Path("dist/sbom"), help="the folder to write to (%(default)s)")
    args = parser.parse_args(argv)
    likewise, extras, models = read_wheel(args.wheel)
    known = installed(args.site) | {likewise.name: likewise}
    args.into.mkdir(parents=True, exist_ok=True)
    for extra in ("", *extras):
        name = "-".join(filter(None, (likewise.name, likewise.version, extra)))
        text = json.dumps(bill(likewise, extra, known, models), indent=2, sort_keys=True)
        (args.into / f"{name}.cdx.json").write_text(text + "\n", "utf-8")


def bill(likewise: Package, extra: str, known: Mapping[str, Package], models: Sequence[Json]) -> Json:
    """The bill of materials of likewise with one extra ("": without any)."""
    edges = dependency_edges(likewise.name, extra, known)
    packages = [known.get(name) or Package(name, None) for name in sorted(edges)]
    references = {package.name: package.reference for package in packages}
    depends = [
        {"ref": references[name], "dependsOn": sorted(references[needed] for needed in edges[name])}
        for name in sorted(edges)
    ]
    described = {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": component(likewise), "properties": [{"name": "likewise:extra", "value": extra}]},
        "components": [*(component(one) for one in packages if one.name != likewise.name), *models],
        "dependencies": depends,
    }
    content = json.dumps(described, sort_keys=True)
    return {**described, "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}"}


def component(package: Package) -> Json:
    """A package as CycloneDX lists it."""
    result: Json = {"type": "library", "name": package.name, "bom-ref": package.reference, "purl": package.reference}
    if package.version is None:
        return {**result, "properties": [{"name": "likewise:installed", "value": "false"}]}
    return {**result, "version": package.version} | ({"licenses": list(package.licence)} if package.licence else {})


def dependency_edges(root: str, extra: str, known: Mapping[str, Package]) -> dict[str, set[str]]:
    """Each package that is needed, and what it needs directly; an extra of a package adds to what the package needs."""
    edges: dict[str, set[str]] = {}
    waiting, seen = [(root, extra)], set[tuple[str, str]]()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        needed = edges.setdefault(name, set())
        for requirement in requirements_of(known.get(name), wanted):
            other = canonicalize_name(requirement.name)
            needed.update({other} - {name})
            waiting += [(other, one) for one in ("", *requirement.extras)]
    return edges


def requirements_of(package: Package | None, extra: str) -> Iterator[Requirement]:
    """What a package needs on this machine, with one of its extras; nothing is known of one that is not installed."""
    for text in package.requirements if package else ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def installed(sites: Sequence[Path]) -> dict[str, Package]:
    """The packages of these folders by name."""
    found: dict[str, Package] = {}
    for distribution in distributions(path=[str(site) for site in sites]):
        metadata = distribution.metadata
        if metadata["Name"] is None:  # what an interrupted installation leaves
            continue
        package = described_package(metadata)
        found.setdefault(package.name, package)
    return found


def described_package(metadata: Any) -> Package:
    """A package by its metadata's headers."""
    requirements = tuple(metadata.get_all("Requires-Dist") or ())
    return Package(canonicalize_name(metadata["Name"]), metadata["Version"], licence_of(metadata), requirements)


def licence_of(metadata: Any) -> tuple[Json, ...]:
    """The licence: an SPDX expression if there is one, else the names of classifiers, else a line of free text."""
    if metadata.get("License-Expression"):
        return ({"expression": metadata["License-Expression"]},)
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License :: ")]
    names = [line.rpartition(" :: ")[2] for line in classifiers]
    written = (metadata.get("License") or "").strip()
    names = names or ([written] if written and "\n" not in written else [])
    return tuple({"license": {"name": name}} for name in sorted(set(names)))


def read_wheel(wheel: Path) -> tuple[Package, list[str], list[Json]]:
    """The package likewise itself, the names of its extras, and its models."""
    with zipfile.ZipFile(wheel) as archive:
        file = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(file).decode())
        weights = sorted(name for name in archive.namelist() if PurePosixPath(name).match(WEIGHTS))
        models = [model_component(PurePosixPath(name), archive) for name in weights]
    return described_package(metadata), sorted(metadata.get_all("Provides-Extra") or ()), models


def model_component(weights: PurePosixPath, archive: zipfile.ZipFile) -> Json:
    """A bundled model with its card's licence and the SHA-256 of its weights."""
    card = weights.with_name("README.md")
    licence = HeaderParser().parsestr(archive.read(str(card)).decode().removeprefix("---\n"))["license"]
    return {
        "type": "machine-learning-model",
        "name": weights.parent.name,
        "bom-ref": f"model:{weights.parent.name}",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(archive.read(str(weights))).hexdigest()}],
        "licenses": [{"license": {"name": licence}}],
        "description": f"{card} lists the data it was trained on, and their licences",
    }


if __name__ == "__main__":
    main()
