"""Errors and notes on the command line name its flags, not the arguments of Python functions."""

import warnings

import pytest

from likewise.cli import main
from likewise.cli.flag_messages import with_flags

FLAGS = {"overflow": "--overflow", "prompt": "--prompt", "prompt_name": "--prompt-name", "engine": "--engine"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('choose overflow="mean" (in windows), "warn"', 'choose --overflow mean (in windows), "warn"'),
        ("prompt='query: ' and prompt_name='q' were both", "--prompt 'query: ' and --prompt-name q were both"),
        ("to prepend any other text, pass prompt=…", "to prepend any other text, pass --prompt …"),
        *(
            (text, text)
            for text in (
                'Embedder.load(name, engine="native")',
                'leave out --engine (engine="torch")',
                'a.prompt="x"',
                "NAME(prompt=x), prompt=x",
                'precision="fp32"',
            )
        ),
    ],
)
def test_quoted_values_of_a_commands_own_arguments_become_flags(message, expected):
    assert with_flags(message, FLAGS) == expected


@pytest.mark.filterwarnings("default")
def test_errors_and_notes_of_a_command_name_its_flags(folders, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("the cat and the dog " * 60 + "\n")
    command = ["encode", str(tmp_path / "in.txt"), "-o", str(tmp_path / "o.npy"), "-m", str(folders("bert")), "-q"]
    before = warnings.showwarning
    assert main(command) == 0
    assert "--overflow mean reads all of them, --overflow truncate silences this" in capsys.readouterr().err
    assert main([*command, "--prompt-name", "query"]) == 2
    assert capsys.readouterr().err.endswith("To prepend any other text, pass --prompt …\n")
    assert warnings.showwarning is before
