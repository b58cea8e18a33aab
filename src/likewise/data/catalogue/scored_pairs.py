"""Pairs with similarity scores."""

from .entry import LABELLED, SCORED, Dataset, DatasetFile, HubFiles

STS_LICENCE = "CC BY-SA 4.0"
STS_TERMS = (
    "The scores are CC BY-SA 4.0. The sentences keep the terms of their sources: Microsoft Research's for MSRpar and "
    "MSRvid, EMM's for headlines, CC BY-SA 3.0 for StackExchange; captions are free or CC BY-SA."
)
STSB = ("stsbenchmark-sts", "b0fddb56ed78048fa8b90373c8a3cfc37b684831")


def _hub(repository: str, revision: str, pattern: str = "*test*") -> HubFiles:
    return HubFiles(f"mteb/{repository}", revision, (pattern,))


def _sts(year: int, rows: int, sha256: str, revision: str, citation: str, note: str = "") -> Dataset:
    """The English test set of one year's shared task, with all subsets in one file."""
    hub = _hub(f"sts{year}-sts", revision)
    return Dataset(
        name=f"sts{year}",
        title=f"Semantic Textual Similarity 20{year}, English test set",
        files={"test": DatasetFile(SCORED, rows, sha256, rows, hub=hub)},
        licence=STS_LICENCE,
        terms=STS_TERMS,
        citation=citation,
        homepage="http://ixa2.si.ehu.eus/stswiki",
        obtain=f"{hub.repository} on the hub (without the subsets), or STS{year} from the STS wiki, as raw text with "
        "gold scores from 0 to 5; leave out unscored lines, and add a column named subset for means over subsets",
        note=note,
    )


SCORED_PAIRS = (
    _sts(
        12,
        3108,
        "7e2493b0eea4e80cb2e630ae65ff2943fcc1a02b76ea279802fe2e4783aa3b5a",
        "a0d554a64d88156834ff5ae9920b964011b16384",
        "Agirre et al. 2012, SemEval-2012 Task 6, S12-1051",
        "STS-B train contains 996 of its distinct pairs: do not report scores on it after training on STS-B.",
    ),
    _sts(
        13,
        1500,
        "ae45bb97aa1b7ad66d93e94baa269d58cd5591d05c6a0f4238e88ae863fb151b",
        "7e90230a92c190f1bf69ae9002b8cea547a64cca",
        "Agirre et al. 2013, *SEM 2013 shared task, S13-1004",
        "Excludes the SMT subset, whose licence is closed. STS-B train contains 596 of its distinct pairs.",
    ),
    _sts(
        14,
        3750,
        "23e1d178b6e8c890a1f5e6f33947f473456ff597a644b264962d5be7f80f2553",
        "6031580fec1f6af667f0bd2da0a551cf4f0b2375",
        "Agirre et al. 2014, SemEval-2014 Task 10, S14-2010",
        "STS-B train contains 1,822 of its distinct pairs.",
    ),
    _sts(
        15,
        3000,
        "79f1f480cc24f362043c15f14573f69cee45f01384bf63f1a2c0119ce46b3d98",
        "ae752c7c21bf194d8b67fd573edf7ae58183cbe3",
        "Agirre et al. 2015, SemEval-2015 Task 2, S15-2045",
        "Contains the pairs with a gold score, out of 8,500. STS-B train contains 1,102 of its distinct pairs.",
    ),
    _sts(
        16,
        1186,
        "7cab960504c3c6ab1cfa9a1a8622412abca3e7fb14c6324099c7972d5c1d604e",
        "4d8694f8f0e0100860b497b999b3dbed754a0513",
        "Agirre et al. 2016, SemEval-2016 Task 1, S16-1081",
        "STS-B train contains 197 of its distinct pairs.",
    ),
    Dataset(
        name="stsb", title="STS Benchmark",
        files={
            "train": DatasetFile(SCORED, 5749, "481cd170af7f413c2ee6fe29c7cba57f0fa99683c49f6ccef9db045f9de5cc6a",
                5749, hub=_hub(*STSB, "*train*")),
            "dev": DatasetFile(SCORED, 1500, "21924b7ff40acc38addff564c08cd017c75b1c9bfe19dc2ecca6aafa19be5c7d", 1500,
                hub=_hub(*STSB, "*validation*")),
            "test": DatasetFile(SCORED, 1379, "cbf7c7990d4b878eeadc79f2c1d14a5237a00d2600fc18ef452f8166de5ae6a1", 1379,
                hub=_hub(*STSB)),
        },
        licence=STS_LICENCE, terms=STS_TERMS, citation="Cer et al. 2017, SemEval-2017 Task 1, S17-2001",
        homepage="http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
        obtain="the hub's mteb/stsbenchmark-sts, or Stsbenchmark.tar.gz from the STS wiki (tab-separated, unquoted): "
        "the score is in column 5, the sentences in columns 6 and 7",
        note="257 of the 2,552 distinct test sentences are also in train, which contains 43 pairs twice.",
    ),
    Dataset(
        name="sick", title="SICK: relatedness and entailment",
        files={
            "train": DatasetFile((*SCORED, "label"), 4500,
                "753555e31b6010cd057a4cc3500d38ace680f10b156d4c47fa02458c0c56734d", 4500),
            "trial": DatasetFile((*SCORED, "label"), 500,
                "35cfdf4854abdad35993790f1fdbf48700bfdbe80636fe9e78c8193fea007496", 500),
            "test": DatasetFile((*SCORED, "label"), 4927,
                "57b1c3c0e9cfd0fdd28a4729c4cfb309c01158c60e0520c7e1372ba2ecdf475d", 4927),
        },
        licence="CC BY-NC-SA 3.0",
        citation="Marelli et al. 2014, A SICK cure for the evaluation of compositional models, L14-1314",
        homepage="https://zenodo.org/record/2787612",
        obtain="SICK_{train,trial,test_annotated}.txt from SemEval-2014 Task 1: score is relatedness_score (1–5), "
        "label is entailment_judgment in lower case",
        note="73 test pairs are also in train. The hub's mteb/sickr-sts uses all 9,927 pairs as its test set, so its "
        "scores are not comparable, and likewise does not read it.",
    ),
    Dataset(
        name="ukp_aspect", title="UKP argument aspect similarity",
        files={
            "all": DatasetFile((*LABELLED, "topic"), 3595,
                "6866582fb92dad4b1c5a7646de7dd73e7af33f17e5feb67bd732671eed32534d", 3595,
                note="The labels are NS, DTORCD (not similar), SS and HS."),
        },
        licence="CC BY-NC", terms="To our knowledge, this is the licence of the release; our copy states none.",
        citation="Reimers et al. 2019, Classification and clustering of arguments, P19-1054",
        homepage="https://github.com/UKPLab/acl2019-BERT-argument-classification-and-clustering",
        obtain="UKP_ASPECT.tsv from its authors (tudatalib)",
        note="Like AFS, but with four degrees instead of scores, so results are not comparable with those on AFS.",
    ),
    Dataset(
        name="afs", title="Argument facet similarity",
        files={"all": DatasetFile((*SCORED, "topic"), published=6000)}, licence="not stated",
        citation="Misra, Ecker and Walker 2016, Measuring the similarity of sentential arguments, W16-3636",
        homepage="https://nlds.soe.ucsc.edu/node/44",
        obtain="the authors' page; expected is one file with 2,000 pairs on each of three topics (gun control, gay "
        "marriage, death penalty), with the topic's name and a score from 0 to 5 (the annotators' mean)",
    ),
)  # fmt: skip
