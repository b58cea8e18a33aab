"""What only some systems have is used behind a check, so that likewise imports and runs without it."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "likewise"
UNIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
UNIX_NAMES = {
    "os": {"fork", "getgid", "getloadavg", "getuid", "geteuid", "killpg", "mkfifo", "nice", "pread", "pwrite", "setsid"}
    | {"O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "WNOHANG", "WIFSIGNALED", "WTERMSIG", "register_at_fork"}
    | {"sched_getaffinity", "statvfs", "sysconf", "uname", "chown", "wait4"},
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2", "alarm", "setitimer"},
}
CHECKED_ELSEWHERE = {
    "serve/workers.py": "cli/serve.py refuses --workers where there is no fork",
    "runtime/temporary_files.py": "what uses these returns at once where fcntl is None",
    "runtime/writer_lock.py": "what uses these returns at once where fcntl is None",
}


def uses(path: Path) -> set[str]:
    """The names of `UNIX_NAMES` that a file uses without `hasattr` or `getattr` for the same name."""
    text = path.read_text("utf-8")
    checked = set(re.findall(r"(?:has|get)attr\(\w+, \"(\w+)\"", text))
    found = {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in UNIX_NAMES.get(node.value.id, ())
    }
    return found - checked


def unguarded_imports(path: Path) -> set[str]:
    """The modules of `UNIX_MODULES` that a file imports outside a try statement."""
    tree = ast.parse(path.read_text("utf-8"))
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import) and id(node) not in tried]
    return {alias.name for node in imports for alias in node.names} & UNIX_MODULES


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_names_that_some_systems_lack_are_checked_before_use(path):
    assert not unguarded_imports(path)
    assert not uses(path) or path.relative_to(SOURCE).as_posix() in CHECKED_ELSEWHERE


@pytest.mark.parametrize("file", CHECKED_ELSEWHERE)
def test_an_exception_is_still_needed(file):
    assert uses(SOURCE / file)


def test_the_checks_find_what_they_look_for(tmp_path):
    (tmp_path / "bad.py").write_text("import os, fcntl\nos.pread(1, 2, 3)\n")
    guarded = "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None\n"
    (tmp_path / "good.py").write_text(f'import os\n{guarded}if hasattr(os, "fork"):\n    os.fork()\n')
    assert uses(tmp_path / "bad.py") == {"pread"} and unguarded_imports(tmp_path / "bad.py") == {"fcntl"}
    assert not uses(tmp_path / "good.py") and not unguarded_imports(tmp_path / "good.py")
