from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.backends import common
from likewise.search.backends.common import ServerAddress

OPTIONS = {"index": ("exact", "hnsw")}


def parse(location):
    return ServerAddress.parse(location, "postgresql", OPTIONS)


def test_the_table_and_our_options_are_taken_out_of_the_servers_url():
    address = parse("postgresql://ann:secret@db.example:5433/texts?sslmode=require&index=hnsw&options=#passages")
    assert address.url == "postgresql://ann:secret@db.example:5433/texts?sslmode=require&options="
    assert address.table == "passages" and address.options == {"index": "hnsw"}


def test_what_is_shown_is_the_location_without_its_password():
    address = parse("postgresql://ann:secret@db.example:5433/texts?password=secret&index=hnsw#passages")
    assert address.shown == "postgresql://ann@db.example:5433/texts?index=hnsw#passages"
    assert parse(address.shown).shown == address.shown


def test_a_socket_without_a_host_is_an_address():
    address = parse("postgresql://postgres:@/postgres?host=/tmp/socket#t")
    assert address.url.startswith("postgresql://postgres:@/postgres?host=")
    assert address.shown == "postgresql://postgres@/postgres?host=/tmp/socket#t"


def test_a_percent_sign_spells_what_a_url_cannot_hold():
    assert parse("postgresql://h/d#my%20table%23").table == "my table#"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("mysql://ann:secret@h/d#t", "begins with 'mysql'"),
        ("postgresql://ann:secret@h:port/d#t", "not a URL"),
        ("postgresql://ann:secret@[h/d#t", "not a URL"),
        ("postgresql://ann:secret@h/d", "a table name"),
        ("postgresql://ann:secret@h/d#", "a table name"),
        ("postgresql://ann:secret@h/d#" + "é" * 32, "1 to 63 bytes"),
        ("postgresql://ann:secret@h/d#a%00b", "a table name"),
        ("postgresql://ann:secret@h/d#a%25sb", "without %"),
        ("postgresql://ann:secret@h/d?index=flat#t", "index is 'flat'; expected one of exact, hnsw"),
    ],
)
def test_a_wrong_location_is_refused_without_repeating_the_password(location, message):
    with pytest.raises(BadInput, match=message) as caught:
        parse(location)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("row", "found"), [(None, "no index"), ((4, "hnsw", None), "index=hnsw")])
def test_what_create_did_not_make_so_is_not_opened(row, found):
    with pytest.raises(BadInput, match=f"expected an index that `create` made for this location; found {found}"):
        parse("postgresql://h/d?index=exact#t").check_created(row)
    assert parse("postgresql://h/d#t").check_created((4, "hnsw", None)) == (4, "hnsw", None)


@pytest.mark.parametrize(("is_final", "attempts"), [(True, 1), (False, 3)])
def test_a_server_is_asked_again_after_pauses_until_an_error_is_final(monkeypatch, is_final, attempts):
    errors, slept = [OSError("away") for _ in range(3)], []
    monkeypatch.setattr(common, "PAUSES", (1, 2))
    monkeypatch.setattr(common.time, "sleep", slept.append)

    def attempt():
        raise errors.pop()

    with pytest.raises(BadInput, match="away"):
        common.retried(attempt, OSError, lambda error: (BadInput(str(error)), is_final))
    assert len(errors) == 3 - attempts and slept == [1, 2][: attempts - 1]
    assert common.retried(lambda: "there", OSError, lambda error: (error, True)) == "there"


@given(st.text())
def test_any_text_is_an_address_or_refused(text):
    with suppress(BadInput):
        assert parse(f"postgresql://{text}").table
