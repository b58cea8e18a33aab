"""model2vec: sums the token table of one of our static models, with the model's heads applied to every row."""

from typing import Any

from ..process import Spec


class Model2Vec:
    """Our tokenizer and table; model2vec's mean leaves out special tokens and unknown words."""

    packages = ("model2vec",)

    def __init__(self, spec: Spec) -> None:
        import numpy as np
        from model2vec import StaticModel

        from likewise import Embedder
        from likewise.text.library_tokenizer import library_object

        embedder: Any = Embedder.load(spec.folder, engine="numpy")
        if embedder.encoder.depth:
            raise ValueError(f"{spec.model} has {embedder.encoder.depth} layers; model2vec sums a table of tokens")
        rows = np.concatenate(embedder.layers_of([[i] for i in range(embedder.tokenizer.vocabulary)]), axis=1)[0]
        for head in embedder.heads[: -1 if embedder.is_unit else None]:
            rows = head(rows)
        tokenizer = library_object(embedder.tokenizer.description, "model2vec")
        self.limit, self.multiple = embedder.tokenizer.max_seq_length, spec.threads > 1
        self.model = StaticModel(rows, tokenizer, normalize=embedder.is_unit)

    def encode(self, texts: list[str]) -> Any:
        return self.model.encode(texts, max_length=self.limit, use_multiprocessing=self.multiple)


load = Model2Vec
