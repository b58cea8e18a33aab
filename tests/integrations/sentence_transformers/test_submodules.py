"""Programs written for sentence-transformers import from its submodules: after `stand_in()` or with other imports."""

import subprocess
import sys

import pytest

OURS = "likewise.integrations.sentence_transformers"
START = {
    "sentence_transformers": f"from {OURS} import stand_in; stand_in()",
    OURS: "",
}
PROGRAM = """
import sys
import PEER.training_args
assert "torch" not in sys.modules
from PEER import (
    SentenceTransformer,
    SentenceTransformerModelCardData,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from PEER import losses
from PEER.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from PEER.cross_encoder import losses as losses_of_pairs
from PEER.cross_encoder.evaluation import CrossEncoderCorrelationEvaluator
from PEER.cross_encoder.losses import BinaryCrossEntropyLoss
from PEER.evaluation import EmbeddingSimilarityEvaluator, SimilarityFunction as same, TripletEvaluator
from PEER.losses import CoSENTLoss, MultipleNegativesRankingLoss
from PEER.model_card import SentenceTransformerModelCardData
from PEER.quantization import quantize_embeddings
from PEER.sentence_transformer import SentenceTransformerTrainer, evaluation, losses as newer
from PEER.similarity_functions import SimilarityFunction
from PEER.trainer import SentenceTransformerTrainer as trainer
from PEER.training_args import BatchSamplers, SentenceTransformerTrainingArguments
assert trainer is SentenceTransformerTrainer and SimilarityFunction is same
assert losses.CoSENTLoss is newer.CoSENTLoss is CoSENTLoss
assert losses_of_pairs.BinaryCrossEntropyLoss is BinaryCrossEntropyLoss
assert PEER.training_args.BatchSamplers is BatchSamplers and PEER.cross_encoder.losses.MSELoss is not losses.MSELoss
for missing in ("datasets", "readers", "sparse_encoder"):
    try:
        exec(f"import PEER.{missing}")
    except ModuleNotFoundError as error:
        assert f"{missing} is not part of likewise's replacement" in str(error), error
        assert "docs/drop-in.md" in str(error)
        continue
    raise AssertionError(missing)
print("done")
"""
EVERY_SUBMODULE = f"""
from importlib import import_module
from {OURS}.submodules import SUBMODULES
for name in SUBMODULES:
    module = import_module(f"PEER.{{name}}")
    assert module.__name__ == module.__spec__.name == f"PEER.{{name}}"
    assert any(not attribute.startswith("_") for attribute in dir(module)), name
print("done")
"""


@pytest.mark.parametrize("package", START)
@pytest.mark.parametrize("program", [PROGRAM, EVERY_SUBMODULE], ids=["a training program", "every submodule"])
def test_programs_import_from_the_submodules_of_sentence_transformers(package, program):
    script = START[package] + program.replace("PEER", package)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
