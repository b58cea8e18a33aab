"""`likewise cluster` prints, writes and draws the clusters of the library."""

import json
import sys

import pytest

from likewise import Embedder
from likewise.cli import main
from likewise.cli.texts import cluster as cluster_command
from likewise.cluster import CLUSTERINGS, cluster_vectors, clusterings
from likewise.files import Table
from tests.cli.rarer_pairs import make_pairs_rarer

TEXTS = ["a cat", "the dog", "a cat", "", "shares fell", "the old dog", "cat", "A   cat", "fell", "shares"]


@pytest.fixture
def words(folders, tmp_path):
    (tmp_path / "in.txt").write_text("".join(text + "\n" for text in TEXTS))
    return ["cluster", str(tmp_path / "in.txt"), "-m", str(folders("bert"))]


def test_clusters_are_those_of_the_library(words, folders, json_output):
    result = json_output([*words, "-k", "3", "--json"])
    distinct = list(dict.fromkeys(text for text in TEXTS if text))
    labels = cluster_vectors(Embedder.load(folders("bert")).encode(distinct), k=3)
    assert [cluster["size"] for cluster in result["clusters"]] == [int((labels == i).sum()) for i in range(3)]
    assert (result["texts"], result["distinct"], result["in_none"], result["method"]) == (10, 8, 0, "average")
    for i, cluster in enumerate(result["clusters"]):
        assert cluster["cluster"] == i + 1 and cluster["central"][0] in [
            distinct[j] for j in range(8) if labels[j] == i
        ]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_all_rows_are_written_with_their_cluster(ending, words, tmp_path, json_output):
    rows = [{"id": i, "body": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words[1], out = str(tmp_path / "in.jsonl"), tmp_path / f"out{ending}"
    clusters = json_output([*words, "--column", "body", "-k", "3", "-o", str(out), "--json"])["clusters"]
    columns = Table.read(out, lambda names: names).columns
    assert columns["body"] == TEXTS and [int(i) for i in columns["id"]] == list(range(10))
    numbers = [str(number) for number in dict(zip(TEXTS, columns["cluster"], strict=True)).values()]
    assert [numbers.count(str(cluster["cluster"])) for cluster in clusters] == [one["size"] for one in clusters]
    assert columns["cluster"][0] == columns["cluster"][2]  # equal texts
    assert columns["cluster"][3] in (None, "") and columns["cluster_name"][3] in (None, "")  # the blank one
    for number, name in zip(columns["cluster"], columns["cluster_name"], strict=True):
        assert number in (None, "") or name == clusters[int(number) - 1]["name"]


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_every_method_is_explained_and_runs(method, words, capsys):
    row = CLUSTERINGS[method]
    k = ["-k", "2"] if row.by and row.threshold is None else []
    assert main([*words, "--method", method, *k]) == 0
    assert f"({method})" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["cluster", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    flags = {"k": "-k", "threshold": "--threshold"}
    options = " or ".join(flags[name] for name in row.by) or "neither -k nor --threshold"
    default = f"; default: {row.threshold}" if row.threshold is not None else ""
    assert f"({options}{default})" in shown.partition(f" {method} ")[2]


def test_the_largest_clusters_are_shown(words, monkeypatch, capsys):
    monkeypatch.setattr(cluster_command, "SHOWN", 2)
    assert main([*words, "-k", "3"]) == 0
    shown, summary = capsys.readouterr()
    assert len(shown.splitlines()) == 4 and shown.splitlines()[0].split() == ["#", "texts", "cosine", "name", "text"]
    assert shown.splitlines()[3] == "1 more cluster is not shown: --json prints all"
    assert "8 of 8 distinct texts are in 3 clusters (average)" in summary


def test_where_texts_are_in_no_cluster_the_least_size_is_named(words, capsys):
    assert main([*words, "--threshold", "1", "--min-size", "2"]) == 0
    summary = capsys.readouterr().err
    assert (
        "2 of 8 distinct texts are in 1 cluster of 2 texts or more (average); for smaller ones: --min-size" in summary
    )
    assert main([*words, "--threshold", "1", "--min-size", "1"]) == 0
    assert "--min-size" not in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".html", ".png", ".svg", ".pdf"])
def test_a_map_is_drawn(ending, words, tmp_path, capsys):
    path = tmp_path / f"map{ending}"
    assert main([*words, "-k", "2", "--map", str(path), "--layout", "pca", "-q"]) == 0
    assert path.stat().st_size > 5000 and capsys.readouterr() == ("", "")


def test_a_map_without_scikit_learn_says_what_it_shows(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("likewise.cli.texts.cluster.find_spec", lambda name: None)
    assert main([*words, "-k", "2", "--map", str(tmp_path / "map.html")]) == 0
    assert "only two principal components; to use t-SNE: pip install" in capsys.readouterr().err
    assert main([*words, "-k", "2", "--map", str(tmp_path / "map.png")]) == 2
    assert (
        "a map as a picture (a map in .html needs no package) needs the package matplotlib" in capsys.readouterr().err
    )
    assert main([*words, "-k", "2", "--map", str(tmp_path / "map.html"), "--layout", "t-sne"]) == 2
    assert "a map by t-sne needs the package scikit-learn" in capsys.readouterr().err


def test_a_map_of_many_texts_announces_that_it_takes_time(words, tmp_path, monkeypatch, capsys):
    command = [*words, "-k", "2", "--map", str(tmp_path / "map.html")]
    for slow, options, shown in ((8, [], True), (9, [], False), (8, ["-q"], False), (8, ["--layout", "pca"], False)):
        monkeypatch.setattr(cluster_command, "SLOW", slow)
        assert main([*command, *options]) == 0
        assert ("Placing 8 texts with t-SNE" in capsys.readouterr().err) == shown


def test_a_map_in_html_needs_no_package(words, tmp_path, monkeypatch):
    for package in ("sklearn", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    assert main([*words, "-k", "2", "--map", str(tmp_path / "map.html"), "--layout", "pca"]) == 0
    page = (tmp_path / "map.html").read_text("utf-8")
    assert "the old dog" in page and "in.txt: 8 texts in 2 clusters" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "umap"], "method is 'umap'; expected one of average"),
        (["--method", "kmeans"], "kmeans needs k: specify how many clusters you want"),
        (["--method", "hdbscan", "-k", "3"], "hdbscan takes neither k nor threshold; got k"),
        (["--threshold", "2"], "threshold is 2.0; expected a cosine from -1 to 1"),
        (["--min-size", "0"], "min_size is 0; expected a whole number, 1 or more"),
        (["--seed", "-1"], "--seed is -1; expected a whole number, 0 or more"),
        (["-o", "out.npy"], "out.npy ends in '.npy'"),
        (["-o", "out.txt"], "out.txt ends in '.txt'; expected an output file that ends in .parquet, "),
        (["-k", "9"], "k is 9; expected at most the number of vectors, 8"),
        (["--map", "map.gif"], "map.gif ends in '.gif'; expected an output file that ends in .html"),
        (["--layout", "pca"], "--layout pca requires --map FILE"),
        (["--layout", "umap"], "--layout is 'umap'; expected one of pca, t-sne"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(options, message, words, capsys):
    words[3] = "no-such-model"
    assert main([*words, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_column_of_the_file_is_not_replaced(words, tmp_path, capsys):
    (tmp_path / "in.csv").write_text("text,cluster\na cat,7\n")
    words[1] = str(tmp_path / "in.csv")
    assert main([*words, "-o", str(tmp_path / "out.csv")]) == 2
    assert "already has a column 'cluster'" in capsys.readouterr().err


@pytest.mark.parametrize("lines", ["", "\n\n", "one\n"])
def test_a_file_with_hardly_any_text_has_no_clusters(lines, words, tmp_path, json_output):
    (tmp_path / "in.txt").write_text(lines)
    assert json_output([*words, "--map", str(tmp_path / "map.html"), "--json"])["clusters"] == []
    assert json_output([*words, "--map", str(tmp_path / "map.html"), "--layout", "pca", "--json"])["layout"] == "pca"


@pytest.fixture
def calibrated(folders, tmp_path, capsys):
    """Words of `likewise cluster` for 300 texts, with a calibration of them."""
    texts = [f"the {a} {b} {i}" for i in range(60) for a, b in (("cat", "sleeps"), ("dog", "runs"), ("shares", "fell"))]
    (tmp_path / "in.txt").write_text("\n".join([*texts, *texts[:9]]) + "\n")
    words = [str(tmp_path / "in.txt"), "-m", str(folders("bert"))]
    assert main(["calibrate", *words, "-o", str(tmp_path / "c.json"), "--chance-pairs", "5000", "-q"]) == 0
    make_pairs_rarer(tmp_path / "c.json")
    return ["cluster", *words, "--calibration", str(tmp_path / "c.json")]


@pytest.mark.parametrize("method", ["average", "complete", "communities"])
def test_a_false_discovery_rate_chooses_the_threshold(method, calibrated, tmp_path, capsys, json_output):
    words = [*calibrated, "--method", method, "--min-size", "2", "--json"]
    found = json_output([*words, "--fdr", "0.1"])
    assert found["cut_off"]["comparisons"] == 180 * 179 // 2 and found["cut_off"]["discoveries"] > 0
    assert found["threshold"] == found["cut_off"]["cosine"]
    without = [*calibrated[:-2], *words[len(calibrated) :]]
    assert json_output([*without, "--threshold", str(found["threshold"])])["clusters"] == found["clusters"]
    assert main([*words[:-1], "--fdr", "1e-12"]) == 0
    assert "no pair is more similar than chance at a false discovery rate of 1e-12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "3"], "--fdr sets the threshold; expected only one of --fdr, -k and --threshold"),
        (["--threshold", "0.5"], "--fdr sets the threshold; expected only one of --fdr, -k and --threshold"),
        (
            ["--method", "kmeans"],
            "--fdr sets the threshold, but --method kmeans has none; expected one of average",
        ),
        (["--method", "umap"], "method is 'umap'; expected one of average"),
    ],
)
def test_a_rate_goes_with_nothing_else_that_says_how_many_there_are(options, message, calibrated, capsys):
    assert main([*calibrated, "--fdr", "0.05", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("flags", "progress"), [([], None), (["-q"], False)])
def test_progress_is_shown_unless_it_is_quiet(flags, progress, words, monkeypatch):
    seen, cluster = [], clusterings.cluster_with_options

    def spy(vectors, method, options):
        seen.append(options.show_progress_bar)
        return cluster(vectors, method, options)

    monkeypatch.setattr(clusterings, "cluster_with_options", spy)
    assert main([*words, *flags]) == 0
    assert seen == [progress]
