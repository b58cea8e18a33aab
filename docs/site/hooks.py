"""What MkDocs calls while it builds: files from outside docs/ are added, links lead to them, folders list pages."""

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
"""These pages of a folder are listed before the others, which are in the order of their names."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Folders in the navigation become their pages, or nothing if absent; the front page learns of its engine."""
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
    """The pages of a folder from the site's root, those to be read first before the others."""
    names = {path.name for path in folder.glob("*.md")}
    ordered = [*(name for name in READ_FIRST if name in names), *sorted(names - {*READ_FIRST})]
    return [(folder / name).relative_to(docs).as_posix() for name in ordered]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to outside docs/, and what the front page loads."""
    for place, path in front_page_files().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    pages = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    for path in outside_files(pages):
        if files.get_file_from_path(site_path(path)) is not None:
            raise ValueError(f"{path} would be {site_path(path)} on the site, where there is a page of docs/ already")
        if path.endswith((".md", *COPIED)):
            files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
        else:
            files.append(File.generated(config, site_path(path), content=shown(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Links of a page of docs/, or of a Markdown file from elsewhere, lead to where files are on the site."""
    inside = f"docs/{page.file.src_uri}"
    for source in (inside, page.file.src_uri):
        if (ROOT / source).is_file():
            return with_links_of_the_site(source, markdown)
    return markdown  # a page that shows a program or a folder


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """The theme's search has no name that a screen reader could say: it gets one."""
    unnamed = 'data-md-component="search" role="dialog"'
    if page.is_homepage:
        return output  # a template of our own, without that search
    if unnamed not in output:
        raise ValueError(f"the theme's search is no longer {unnamed!r}: look whether it has an aria-label of its own")
    return output.replace(unnamed, f'{unnamed} aria-label="Search"')
