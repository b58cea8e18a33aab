"""Where a folder's weights lie: in one file, or in the shards of an index, which is a file too."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from likewise.errors import BadModel
from likewise.runtime.weight_files import weight_files


def test_one_file_comes_before_shards_and_an_index_is_listed_if_it_is_asked_for(tmp_path):
    names = [f"model-{i}-of-2.safetensors" for i in (1, 2)]
    for name in names:
        save_file({name: np.ones(1, np.float32)}, tmp_path / name)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"b": names[1], "a": names[0], "c": names[0]}}))
    shards = [tmp_path / name for name in names]
    assert weight_files(tmp_path) == shards and weight_files(tmp_path, with_index=True) == [*shards, index]
    (tmp_path / names[1]).unlink()
    with pytest.raises(BadModel, match=f"lacks the shard {names[1]}"):
        weight_files(tmp_path)
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "model.safetensors")
    assert weight_files(tmp_path, with_index=True) == [tmp_path / "model.safetensors"]
