"""What an encoder is, in words, by the model_type of its config.json."""

NAMES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "camembert": "CamemBERT",
    "electra": "ELECTRA",
    "mpnet": "MPNet",
    "distilbert": "DistilBERT",
    "albert": "ALBERT",
    "modernbert": "ModernBERT",
}
"""Transformers; the name is that of the architecture, however the weights were trained."""
OTHERS = {"words": "table of word vectors", "bilstm": "bidirectional LSTM", "dan": "deep averaging network"}


def encoder_name(kind: str) -> str:
    """`ELECTRA`, or `table of word vectors`; an unknown kind goes by its own name."""
    return NAMES.get(kind) or OTHERS.get(kind) or kind


def encoder_in_words(kind: str) -> str:
    """`transformer (ELECTRA's architecture)`; a kind that transformers alone knows goes by its own name.

    >>> encoder_in_words("electra"), encoder_in_words("words"), encoder_in_words("nomic_bert")
    ("transformer (ELECTRA's architecture)", 'table of word vectors', 'nomic_bert (by the transformers library)')
    """
    if kind in NAMES:
        return f"transformer ({NAMES[kind]}'s architecture)"
    return OTHERS.get(kind) or f"{kind} (by the transformers library)"
