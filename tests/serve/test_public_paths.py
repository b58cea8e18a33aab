"""Answers name files and folders without their place."""

import hashlib

import pytest

from likewise.serve.public_paths import public_id, public_metadata, public_model


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("likewise-mini", "likewise-mini"),
        ("someone/a-model", "someone/a-model"),
        ("/srv/models/mine", "mine"),
        ("~/models/mine", "mine"),
        ("models/mine", "models/mine"),
    ],
)
def test_a_models_folder_is_shown_by_its_name(recorded, shown):
    assert public_model(recorded) == shown


HERE = hashlib.sha256(b"/srv/texts").hexdigest()[:8]


@pytest.mark.parametrize(
    ("name", "metadata", "shown", "file"),
    [
        ("/srv/texts/a.md#3", {"file": "/srv/texts/a.md", "n": 1}, f"{HERE}/a.md#3", "a.md"),
        ("/srv/texts/a.md", {"file": "/srv/texts/a.md"}, f"{HERE}/a.md", "a.md"),
        ("/srv/texts/a.mdx#3", {"file": "/srv/texts/a.md"}, "/srv/texts/a.mdx#3", "a.md"),
        ("my id", {"file": "/srv/texts/a.md"}, "my id", "a.md"),
        ("texts/a.md#3", {"file": "texts/a.md"}, "texts/a.md#3", "texts/a.md"),
        ("3", {"file": 3}, "3", 3),
        ("3", {}, "3", None),
    ],
)
def test_a_files_place_is_a_digest_in_ids_and_absent_from_metadata(name, metadata, shown, file):
    assert public_id(name, metadata) == shown
    assert public_metadata(metadata) == ({**metadata, "file": file} if "file" in metadata else {})
