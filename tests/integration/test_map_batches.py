"""Ray Data, Spark and Daft give the vectors that `encode` gives, row by row."""

import os
import sys

import numpy as np
import pytest

from likewise import Embedder
from likewise.integrations.map_batches import EncodeBatches

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
pytestmark = pytest.mark.filterwarnings("default")  # theirs
TEXTS = [f"a cat sleeps on {i} mats" for i in range(200)]


@pytest.fixture(scope="module")
def expected():
    return Embedder.load("likewise-mini").encode(TEXTS)


def test_ray_data(expected):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        table = ray.data.from_items([{"n": i, "text": text} for i, text in enumerate(TEXTS)])
        rows = table.map_batches(EncodeBatches, batch_size=64, concurrency=1).take_all()
    finally:
        ray.shutdown()
    rows.sort(key=lambda row: row["n"])
    np.testing.assert_array_equal(np.stack([row["vector"] for row in rows]), expected)


def test_spark(expected):
    from pyspark.sql import SparkSession
    from pyspark.sql.types import ArrayType, FloatType, LongType, StringType, StructType

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    schema = StructType().add("n", LongType()).add("text", StringType())
    try:
        table = spark.createDataFrame(list(enumerate(TEXTS)), schema)
        rows = table.mapInPandas(EncodeBatches().frames, schema.add("vector", ArrayType(FloatType()))).collect()
    finally:
        spark.stop()
    rows.sort(key=lambda row: row["n"])
    np.testing.assert_array_equal(np.array([row["vector"] for row in rows], np.float32), expected)


def test_daft(expected):
    import daft

    batches = EncodeBatches()

    @daft.func.batch(return_dtype=daft.DataType.embedding(daft.DataType.float32(), 384))
    def vector(texts: daft.Series):
        return list(batches.encode(texts.to_pylist()))

    table = daft.from_pydict({"text": TEXTS})
    found = table.with_column("vector", vector(table["text"])).to_pydict()
    np.testing.assert_array_equal(np.array(found["vector"], np.float32), expected)
