"""Describes models, and modifies them without training."""

from ..parser import Entry

ACTIONS = {
    "list": Entry("list_models", "list the models that you can use by name"),
    "show": Entry("show", "show a model's architecture, sizes, pooling and fingerprint"),
    "check": Entry("check", "check a model: engines, speed, agreement with the reference library, and more"),
    "download": Entry("download", "download a published model"),
    "quantize": Entry("quantize", "write a model with int8 weights, and measure how much its vectors change"),
    "distil-static": Entry("distil_static", "distil a model into a table of token vectors, in about a minute"),
    "dissect": Entry("dissect", "show how words change through a model's layers"),
    "select-layers": Entry("select_layers", "choose which layers to average, using unlabelled texts"),
    "fuse": Entry("fuse", "train a map over all layers in seconds, without changing the encoder"),
}

EPILOG = """examples:
  likewise model list
  likewise model show all-MiniLM-L6-v2
  likewise model quantize ./my-model -o my-model-int8

Each action has its own help, with examples: likewise model show --help"""
