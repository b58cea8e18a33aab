"""The hub: asked once, not twice, where it is out of reach; its cache is read all the same."""

import socket
import sys
import types

import pytest

from likewise.errors import ModelNotFound
from likewise.model_files import hub, locate, names


class LocalEntryNotFoundError(OSError):
    """As the hub's client calls it."""


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the hub's client was asked; it has `tmp_path` for owner/kept in its cache, and no way to the rest."""
    calls = []

    def snapshot_download(repository, *, local_files_only, **how):
        calls.append((repository, local_files_only, how))
        if repository == "owner/kept":
            return str(tmp_path)
        if repository == "owner/forbidden" and not local_files_only:
            raise PermissionError("403\nno")
        raise LocalEntryNotFoundError("nothing here")

    module = types.ModuleType("huggingface_hub")
    module.__spec__ = types.SimpleNamespace()
    module.snapshot_download = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setattr(hub, "_quiet_until", [0.0])
    monkeypatch.setattr("urllib.request.getproxies", dict)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return calls


def test_a_hub_out_of_reach_is_asked_once_and_its_cache_is_read_all_the_same(asked, tmp_path):
    tried = []
    assert hub.snapshot("owner/a", tried, revision="r") is None
    assert hub.snapshot("owner/b", tried) is None
    assert hub.snapshot("owner/kept", tried) == tmp_path
    assert [only for _, only, _ in asked] == [False, True, True]
    assert asked[0][2] == {"revision": "r"}
    assert tried[0] == "the hub's owner/a: LocalEntryNotFoundError: nothing here"
    assert tried[1].endswith("not in the cache, and the hub was unreachable a moment ago")


def test_after_ten_minutes_it_is_asked_again(asked, monkeypatch):
    assert hub.snapshot("owner/a", []) is None
    now = hub.time.monotonic()
    for later in (300, 599, 601):  # what is asked meanwhile does not make it wait longer
        monkeypatch.setattr(hub.time, "monotonic", lambda: now + later)  # noqa: B023
        assert hub.snapshot("owner/b", []) is None
    assert [only for _, only, _ in asked] == [False, True, True, False]


def test_a_refusal_is_no_silence(asked):
    tried = []
    assert hub.snapshot("owner/forbidden", tried) is None
    assert hub.snapshot("owner/a", tried) is None
    assert [only for _, only, _ in asked] == [False, False]
    assert tried[0] == "the hub's owner/forbidden: PermissionError: 403"


@pytest.mark.parametrize("why", ["no address", "offline"])
def test_where_the_name_leads_nowhere_or_one_is_offline_only_the_cache_is_read(why, asked, monkeypatch):
    def nowhere(*_):
        raise socket.gaierror("unknown name")

    if why == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    else:
        monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    tried = []
    assert hub.snapshot("owner/a", tried) is None
    assert asked[0][1] is True
    assert ("HF_HUB_OFFLINE is set" if why == "offline" else "unreachable") in tried[0]


def test_a_proxy_may_know_names_that_this_machine_does_not(asked, monkeypatch):
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"https": "http://proxy"})
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("asked for an address"))
    assert hub.snapshot("owner/a", []) is None
    assert asked[0][1] is False


@pytest.mark.parametrize("message", ["", "\n", "first\nsecond", "x" * 500])
def test_an_error_of_the_hub_is_reported_in_one_line(message, asked, monkeypatch):
    def fails(*_args, **_how):
        raise ConnectionError(message)

    monkeypatch.setattr(sys.modules["huggingface_hub"], "snapshot_download", fails)
    shown = message.strip().partition("\n")[0][:160] or "no further details"
    with pytest.raises(ModelNotFound, match=f"ConnectionError: {shown}\n"):
        locate("owner/model")


def test_without_its_client_the_hub_is_not_asked(monkeypatch):
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    tried = []
    assert hub.snapshot("a/b", tried) is None
    assert len(tried) == 1 and "not tried, because huggingface_hub is not installed: pip install" in tried[0]


@pytest.mark.parametrize("value", ["1", "on", "YES", "true"])
def test_offline_is_said_in_any_of_the_hubs_ways(value, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert hub._offline() and not hub._has_address()
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert not hub._offline()


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        *(("owner/some", "owner/some"), ("some", "sentence-transformers/some")),
        *((name, None) for name in ("a/b/c", "./some", "/some", "~some", "some/", "bert-avg(some)")),
    ],
)
def test_a_name_without_an_owner_is_one_of_sentence_transformers(name, repository, monkeypatch):
    calls = []
    monkeypatch.setattr(hub, "snapshot", lambda *given, **how: calls.append((*given, sorted(how))))
    tried = []
    assert names._hub(name, tried) is None
    assert calls == ([(repository, tried, ["allow_patterns", "ignore_patterns"])] if repository else [])


@pytest.mark.parametrize(
    ("endpoint", "host"), [(None, "huggingface.co"), ("https://mirror.example/hub", "mirror.example")]
)
def test_the_address_looked_up_is_that_of_the_hub_in_use(endpoint, host, asked, monkeypatch):
    looked_up = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given: looked_up.append(given))
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    if endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert hub._has_address() and looked_up == [(host, None)]
