"""Runs the documentation's examples with the real models, and compares their output with what the pages show.

    python -m benchmarks.printed_outputs                         # every page that shows what an example prints
    python -m benchmarks.printed_outputs README.md --write       # replace outputs that changed

An output is the `text` block that follows a Python or shell block. Lines that differ only in times and rates are left
unchanged. tests/docs/test_code_blocks.py runs the same examples, but does not compare their output.
"""

import argparse
import contextlib
import difflib
import io
import re
import subprocess
import sys
import tempfile

from tests.docs.page_setups import SETUPS
from tests.docs.pages import FENCE, HISTORY, PAGES, ROOT, text_of

RUN = ("python", "sh", "")
TIMED = re.compile(r"\d[\d,.]* (?:s|ms|min|texts/s|pairs/s|MB|GB)\b")


def main() -> None:
    """Run each page's examples in an empty folder; show the differences, and with --write, update the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help="pages, such as docs/search.md (default: all)")
    parser.add_argument("--write", action="store_true", help="replace outputs that changed")
    args = parser.parse_args()
    changed = False
    for page in args.pages or [page for page in PAGES if page not in HISTORY and "\n```text\n" in text_of(page)]:
        old, new = text_of(page), after_running(text_of(page), SETUPS.get(page, ""))
        changed |= old != new
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), page, "as printed", n=1))
        if args.write and old != new:
            (ROOT / page).write_text(new, "utf-8")
    sys.exit(int(changed and not args.write))


def after_running(page: str, setup: str = "") -> str:
    """Return a page's text with its examples' current outputs; `setup` is Python code that creates their inputs."""
    text, printed, names = page, "", {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(setup, names)
        for block in FENCE.finditer(page):
            if block["language"] == "text" and printed:
                text = text.replace(block["text"], same_times(block["text"], printed), 1)
            printed = output_of(block["language"], block["text"], names) if runs(block) else ""
    return text


def runs(block: re.Match[str]) -> bool:
    """Whether this block is an example that this program runs."""
    commands = "likewise " in block["text"]
    return block["reason"] is None and block["language"] in RUN and (block["language"] == "python" or commands)


def output_of(language: str, text: str, names: dict[str, object]) -> str:
    """Return what an example prints, or an empty string if it fails; the Python blocks of a page share a namespace."""
    if language != "python":
        script = re.sub(r"^\$ ", "", text, flags=re.MULTILINE)
        done = subprocess.run(["bash", "-euc", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"this example failed:\n{text}{done.stdout}", file=sys.stderr)
        return "" if done.returncode else done.stdout
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text.replace("…", "..."), "page", "exec"), names)
    except Exception as error:
        print(f"this example failed:\n{text}{type(error).__name__}: {error}", file=sys.stderr)
        return ""
    return printed.getvalue()


def same_times(old: str, new: str) -> str:
    """Return the new output, but keep old lines that differ only in times and rates."""
    lines = {TIMED.sub("", line): line for line in old.splitlines()}
    return "".join(f"{lines.get(TIMED.sub('', line), line)}\n" for line in new.splitlines()).strip("\n") + "\n"


if __name__ == "__main__":
    main()
