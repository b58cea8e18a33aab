"""An environment of its own with likewise installed in one way, and commands run in it as a user would run them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DIST = Path(os.environ.get("LIKEWISE_DIST", ROOT / "dist"))
TORCH = os.environ.get("LIKEWISE_RELEASE_TORCH", "torch==2.13.0")
"""What pip is asked for before likewise's extra torch, as the Makefile does."""


@dataclass(frozen=True)
class Way:
    """A way to install likewise, and the engine that it must give."""

    file: str  # a pattern in dist/
    compiler: bool
    torch: bool
    engine: str


WAYS = {
    "wheel": Way("likewise-*.whl", compiler=False, torch=False, engine="native"),
    "wheel and torch": Way("likewise-*.whl", compiler=False, torch=True, engine="native"),
    "sdist": Way("likewise-*.tar.gz", compiler=True, torch=False, engine="native"),
    "sdist without a compiler": Way("likewise-*.tar.gz", compiler=False, torch=False, engine="numpy"),
}


def built(pattern: str) -> Path:
    """The one file of dist/ that this machine can install.

    Raises:
        FileNotFoundError: there is none, or there are several.
    """
    found = [path for path in DIST.glob(pattern) if path.suffix != ".whl" or path.stem.endswith(_platform_endings())]
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileNotFoundError(f"expected one {pattern} for this machine in {DIST}, found {names}; run: make dist")
    return found[0]


def _platform_endings() -> tuple[str, ...]:
    return ("-any", f"_{os.uname().machine}") if hasattr(os, "uname") else ("-any", "-win_amd64")


@dataclass(frozen=True)
class Installation:
    """A virtual environment and a working folder, both outside the checkout."""

    way: Way
    environment: Path
    work: Path

    @property
    def bin(self) -> Path:
        """The folder of its commands."""
        return self.environment / ("Scripts" if os.name == "nt" else "bin")

    @property
    def package(self) -> Path:
        """Where likewise was installed."""
        return Path(self.evaluate("import json, likewise; print(json.dumps(likewise.__file__))")).parent

    def run(self, command: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        """A command of the environment, with no variable of ours and no compiler; fails if it ends otherwise."""
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
        plain = {
            **kept,
            "PATH": str(self.bin),
            "HOME": str(self.work),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return completed([str(self.bin / command), *map(str, arguments)], self.work, plain, code)

    def evaluate(self, script: str) -> Any:
        """What a script prints last, from JSON; its other lines are left out."""
        return json.loads(self.run("python", "-c", script).stdout.strip().splitlines()[-1])


def completed(
    command: list[str], work: Path, environment: dict[str, str], code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A process that ended with this code; what it printed is in the error otherwise."""
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def install(way: Way, folder: Path) -> Installation:
    """A new environment with likewise; pip has what configures it here, and a compiler only if the way has one."""
    environment, work = folder / "environment", folder / "work"
    work.mkdir(parents=True)
    completed([sys.executable, "-m", "venv", str(environment)], work, dict(os.environ))
    made = Installation(way, environment, work)
    hidden = ("PYTHONPATH", "CXX", "LIKEWISE_NATIVE")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    variables["PATH"] = str(made.bin) + (os.pathsep + os.environ["PATH"]) * way.compiler
    file = built(way.file)
    wanted = [TORCH, f"likewise[torch] @ {file.as_uri()}"] if way.torch else [str(file)]
    for requirement in wanted:
        completed([str(made.bin / "python"), "-m", "pip", "install", "-q", requirement], work, variables)
    return made
