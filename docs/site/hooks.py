"""MkDocs hooks that add files from outside docs/, rewrite links to them, and expand folders in the navigation."""

from pathlib import Path
from typing import Any

from front_page import ENGINE, front_page_files
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from repository_files import COPIED, ROOT, outside_files, shown, site_path, with_links_of_the_site

READ_FIRST = (
    *("index.md", "README.md", "install.md", "first-ten-minutes.md"),
    *("embed.md", "search.md", "rerank.md", "cluster.md", "deduplicate.md", "fine-tune.md", "distil.md", "evaluate.md"),
)
"""The pages of a folder that are listed first; the other pages follow in the order of their names."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace folders in the navigation by their pages, if any, and record whether the engine has been compiled."""
    config.extra["engine"] = ENGINE.exists()
    config.nav = _with_folders(config.nav or [], Path(config.docs_dir))
    return config


def _with_folders(entries: list[Any], docs: Path) -> list[Any]:
    result = []
    for entry in entries:
        title, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(value, str) and value.endswith("/"):
            value = _pages(docs / value, docs)
        elif isinstance(value, list):
            value = _with_folders(value, docs)
        if value:
            result.append({title: value} if title else value)
    return result


def _pages(folder: Path, docs: Path) -> list[str]:
    """The paths of a folder's pages relative to the site's root, beginning with those in `READ_FIRST`."""
    names = {path.name for path in folder.glob("*.md")}
    ordered = [*(name for name in READ_FIRST if name in names), *sorted(names - {*READ_FIRST})]
    return [(folder / name).relative_to(docs).as_posix() for name in ordered]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs/ that pages link to, and the files that the front page loads."""
    for place, path in front_page_files().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    pages = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    for path in outside_files(pages):
        if files.get_file_from_path(site_path(path)) is not None:
            raise ValueError(f"{path} would become {site_path(path)} on the site, but docs/ already has a page there")
        if path.endswith((".md", *COPIED)):
            files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
        else:
            files.append(File.generated(config, site_path(path), content=shown(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Rewrite the links of a page in docs/, or of a Markdown file outside docs/, to the files' places on the site."""
    inside = f"docs/{page.file.src_uri}"
    for source in (inside, page.file.src_uri):
        if (ROOT / source).is_file():
            return with_links_of_the_site(source, markdown)
    return markdown  # a page that shows a program or a folder


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Give the theme's search a label for screen readers, which it lacks."""
    unnamed = 'data-md-component="search" role="dialog"'
    if page.is_homepage:
        return output  # our own template, which has no search
    if unnamed not in output:
        raise ValueError(
            f"the theme's search no longer contains {unnamed!r}; check whether it now has its own aria-label"
        )
    return output.replace(unnamed, f'{unnamed} aria-label="Search"')
