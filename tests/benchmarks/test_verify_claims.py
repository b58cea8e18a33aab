"""The claims that are tried are README's, and each can fail."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import verify_claims
from benchmarks.verify_claims import CLAIMS, Claim, NotTried
from likewise.errors import BadModel


def test_there_are_ten_and_readme_makes_each():
    assert len(CLAIMS) == 10
    assert all(np.isfinite(claim.wanted()) for claim in CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.words)
def test_a_claim_holds_for_readmes_figure_and_fails_for_a_worse_one(claim):
    assert claim.holds(claim.wanted())
    assert not claim.holds(0.0 if claim.share else claim.wanted() + claim.slack + 1e-3)


def test_what_readme_no_longer_says_is_an_error():
    with pytest.raises(ValueError, match="README no longer contains"):
        Claim("size", "a sentence that is not there", lambda: 0.0).wanted()


def tried(monkeypatch, capsys, *claims):
    monkeypatch.setattr(verify_claims, "CLAIMS", claims)
    with pytest.raises(SystemExit) as ended:
        verify_claims.main()
    return ended.value.code, capsys.readouterr().out


def test_a_claim_that_cannot_be_tried_does_not_hold_and_one_that_fails_is_an_error(monkeypatch, capsys):
    def missing() -> float:
        raise NotTried("the peer is not installed")

    def claim(find):
        return Claim("bits", "bit for bit", find)

    code, out = tried(monkeypatch, capsys, claim(lambda: 0.0), claim(missing))
    assert code == 0 and "not tested: the peer is not installed" in out
    assert out.endswith("1 of 2 hold, 0 fail, 1 not tested\n")
    code, out = tried(monkeypatch, capsys, claim(lambda: 0.0), claim(lambda: 2.0))
    assert code == 1 and "NO\n" in out


def test_a_folder_with_a_pickle_is_refused():
    assert verify_claims.pickles_run() == 0


def load_all(folder):
    """Run what a folder holds, as a library that trusts it would."""
    folder = Path(folder)
    if "auto_map" in json.loads((folder / "config.json").read_text("utf-8")):
        exec((folder / "modeling_likewise.py").read_text("utf-8"), {})
    if (folder / "pytorch_model.bin").exists():
        pickle.loads((folder / "pytorch_model.bin").read_bytes())


def load_pickles(folder):
    """Only load pickles."""
    if (path := Path(folder) / "pytorch_model.bin").exists():
        pickle.loads(path.read_bytes())
        raise BadModel("refused too late")


@pytest.mark.parametrize(("load", "found"), [(load_all, 2), (load_pickles, 1)])
def test_code_that_runs_and_pickles_that_are_loaded_are_noticed(load, found, monkeypatch):
    monkeypatch.setattr(verify_claims.Embedder, "load", load)
    assert verify_claims.pickles_run() == found


def test_another_warning_than_that_of_truncation_does_not_count(monkeypatch):
    class Silent:
        def encode(self, texts, overflow="warn"):
            if overflow == "warn":
                warnings.warn("something else", stacklevel=1)

    monkeypatch.setattr(verify_claims.Embedder, "load", Silent)
    assert verify_claims.cut_in_silence() == 2


def test_texts_are_not_cut_in_silence_and_vectors_keep_their_bits():
    assert verify_claims.cut_in_silence() == verify_claims.differing_values() == 0
