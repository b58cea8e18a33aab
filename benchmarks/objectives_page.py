"""Write docs/objectives.md from the tables of objectives: python -m benchmarks.objectives_page."""

from pathlib import Path

from likewise.train.objectives.registry import objectives_markdown

PAGE = Path(__file__).parent.parent / "docs" / "objectives.md"
OPENING = """# Training objectives

An objective is the loss that training minimizes. Choose one by the columns of your data:

```
likewise train MODEL --data pairs.parquet --objective contrastive -o my-model/
likewise train MODEL --data faq.csv --objective contrastive:temperature=0.02,symmetric --columns anchor=question,positive=answer -o my-model/
likewise train --list
```

Options follow the name after a colon, separated by commas. An option without a value is true, and list items are joined by +. In
Python, the same options are arguments: `Contrastive(temperature=0.02, symmetric=True)`. A column in brackets is optional, and …
stands for any number of further text columns. `--columns` renames columns, and `--columns score=similarity/5` also divides the
values by 5.

`python -m benchmarks.objectives_page` writes this page.

"""  # noqa: E501


def page() -> str:
    """The page as Markdown."""
    return OPENING + objectives_markdown()


def main() -> None:
    PAGE.write_text(page(), "utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
