"""Vectors as columns of pandas, polars, Arrow, DuckDB and datasets; tensors share their memory."""

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from likewise import Embedder
from likewise.errors import BadInput
from likewise.integrations.arrow import arrow_column, vectors_of_column
from likewise.integrations.dataframes import vector_batches, with_vectors
from likewise.integrations.duckdb import register_embedder

pytestmark = pytest.mark.filterwarnings("default")
TEXTS = ["a cat sleeps", "the kitten naps", "stocks fell"]


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load("likewise-static")


def test_pandas_and_polars_get_a_column_of_vectors(embedder):
    expected = embedder.encode(TEXTS)
    frame = with_vectors(pd.DataFrame({"text": TEXTS}), embedder)
    np.testing.assert_array_equal(np.stack(frame["vector"]), expected)
    frame = with_vectors(pl.DataFrame({"name": TEXTS}), embedder, "name", "embedding")
    assert frame.schema["embedding"] == pl.Array(pl.Float32, 384)
    np.testing.assert_array_equal(frame["embedding"].to_numpy(), expected)


def test_a_frame_without_the_column_is_refused(embedder):
    with pytest.raises(BadInput, match="no column 'text'; it has name"):
        with_vectors(pl.DataFrame({"name": TEXTS}), embedder)
    with pytest.raises(BadInput, match="expected a pandas or polars DataFrame; got a list"):
        with_vectors(TEXTS, embedder)


def test_an_arrow_column_shares_the_vectors_memory(embedder):
    vectors = embedder.encode(TEXTS)
    column = arrow_column(vectors)
    assert column.type == pa.list_(pa.float32(), 384)
    assert column.values.buffers()[1].address == vectors.ctypes.data
    assert vectors_of_column(column).ctypes.data == vectors.ctypes.data
    chunked = pa.chunked_array([column[:1], column[1:]])
    np.testing.assert_array_equal(vectors_of_column(chunked), vectors)
    for empty in (column[:0], pa.chunked_array([column[:0], column[:0]]), pa.chunked_array([], column.type)):
        assert vectors_of_column(empty).shape == (0, 384)
    np.testing.assert_array_equal(vectors_of_column(pa.chunked_array([column[:0], column])), vectors)
    with pytest.raises(BadInput, match="expected fixed-size lists without nulls"):
        vectors_of_column(pa.array([[1.0], None]))
    with pytest.raises(BadInput, match="the vectors contain 1 nulls"):
        vectors_of_column(pa.array([[1.0, None], [1.0, 2.0]], pa.list_(pa.float32(), 2)))
    with pytest.raises(BadInput, match=r"got shape \(384,\)"):
        arrow_column(vectors[0])


def test_a_tensor_shares_the_vectors_memory(embedder):
    vectors = embedder.encode(TEXTS)
    assert torch.from_dlpack(vectors).data_ptr() == vectors.ctypes.data


def test_duckdb_orders_rows_by_their_meaning(embedder):
    connection = duckdb.connect()
    register_embedder(connection, embedder)
    connection.execute("CREATE TABLE notes(text VARCHAR)")
    connection.executemany("INSERT INTO notes VALUES (?)", [[text] for text in TEXTS])
    query = "SELECT text FROM notes ORDER BY array_cosine_distance(embed(text), embed('a kitten')) LIMIT 1"
    assert connection.sql(query).fetchall() == [("the kitten naps",)]
    (row,) = connection.sql("SELECT embed('a cat sleeps'), embed(NULL)").fetchall()
    np.testing.assert_allclose(row[0], embedder.encode(TEXTS[:1])[0], atol=1e-6)
    assert row[1] is None


def test_a_dataset_is_mapped_to_vectors(embedder):
    mapped = datasets.Dataset.from_dict({"text": TEXTS}).map(vector_batches(embedder), batched=True, batch_size=2)
    np.testing.assert_allclose(np.array(mapped["vector"]), embedder.encode(TEXTS), atol=1e-6)
