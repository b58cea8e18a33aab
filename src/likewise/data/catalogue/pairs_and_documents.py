"""Pairs, triplets, captions and documents, for training and for search."""

from .entry import CAPTIONS, LABELLED, TRIPLETS, Dataset, DatasetFile, HubFiles

SCIFACT = ("mteb/scifact", "cf10ab6856b15b0e670ef8ae5dae4e266c12d035")
NLI = (
    "About 24,500 pairs are from SNLI, 34,100 from MultiNLI, and the rest from other human-written three-way NLI data; "
    "no pair is in the dev or test files."
)
DOR = {"anchor": "Sentence1", "positive": "Sentence2", "negative": "Sentence3"}


PAIRS = (
    Dataset(
        name="mrpc", title="Microsoft Research Paraphrase Corpus",
        files={
            "train": DatasetFile(LABELLED, 4076, "aa23a94669a49484b0732ca71776b0cc822f7002160200a827c9d70fff9b5145",
                4076),
            "test": DatasetFile(LABELLED, 1725, "c4740d362073c4883c5bdfa9f68236868bb9b21cac82ce05274b6c77cbc3aba9",
                1725),
        },
        licence="Microsoft's", terms="Microsoft Research's own licence, included in the download.",
        citation="Dolan and Brockett 2005, Automatically constructing a corpus of sentential paraphrases, I05-5002",
        homepage="https://www.microsoft.com/en-us/download/details.aspx?id=52398",
        obtain="msr_paraphrase_{train,test}.txt from the download (tab-separated, unquoted); label 1 means paraphrase",
        note="250 pairs are also in STS-B test (251 rows if punctuation is ignored).",
    ),
    Dataset(
        name="nli", title="Natural language inference: SNLI, MultiNLI and others",
        files={
            "train": DatasetFile(LABELLED, 159221, "bbb642b5dca4dea7ac49b5baac444318eaa544781900ced2a2269a008bc008d1",
                942069, kind="partial", note=NLI),
            "triplets": DatasetFile(TRIPLETS, 31167,
                "861f7b802c24dd435f8369d815016b057131385614d18b4c1bb10d3e9a27bf6d", 275601, kind="partial",
                note="Derived from nli/train."),
            "snli_dev": DatasetFile(LABELLED, 9842, "f4a8c16e6f94952bc48d31fed95cdcbba459bcab267f3b31702f8c5de4d11615",
                9842, note="Detokenized."),
            "snli_test": DatasetFile(LABELLED, 9824,
                "a4154d21577ef5f200689305a9ffe36d69ae9804f36184914034d7cbf749abd2", 9824,
                note="Detokenized."),
            "mnli_dev_matched_partial": DatasetFile(LABELLED, 9570,
                "0893c25a2a3aebbfc3dac9ca127b8e98973a8a079a4d8fbdfc445aa5d72cc993", 9815, kind="partial"),
            "mnli_dev_mismatched_partial": DatasetFile(LABELLED, 3912,
                "50a642f2158adba487b50ff994df52d8bf9384e28da49b87d2bd760b4ae996fe", 9832, kind="partial"),
            "lingnli_dev": DatasetFile(LABELLED, 7371,
                "8e7d8558c20983046594410c8bf845e412d91ca754251bfc3e370da45c072e42"),
            "newprotocols_dev": DatasetFile(LABELLED, 4978,
                "f105ae7372527b601ca877a26728ec40518e33fad684dde947292c0fdc8b4014"),
        },
        licence="mixed",
        terms="SNLI and data derived from it: CC BY-SA 4.0; MultiNLI: the OANC's licence and CC BY (SA) 3.0; other "
        "parts: Apache-2.0, CC BY-SA 3.0, C-UDA 1.0, or not stated.",
        citation="Bowman et al. 2015, D15-1075; Williams et al. 2018, N18-1101",
        homepage="https://nlp.stanford.edu/projects/snli",
        obtain="the hub's stanfordnlp/snli and nyu-mll/multi_nli (premise and hypothesis become sentence1 and "
        "sentence2; labels are words; unlabelled rows are left out): 549,367 and 392,702 training pairs",
    ),
    Dataset(
        name="qqp_subset", title="Quora question pairs: a subset",
        files={
            "pairs": DatasetFile(LABELLED, 29324, "96333272b0184d23f361e510dd4097bf8fd5f96f8da30b15ee5f41470b054dc5",
                404290, kind="partial"),
        },
        licence="non-commercial", terms="Quora's terms of use.",
        citation="Iyer, Dandekar and Csernai 2017, First Quora dataset release",
        homepage="https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs",
        obtain="quora_duplicate_questions.tsv from Quora's release; question1 becomes sentence1, question2 sentence2",
    ),
    Dataset(
        name="scifact", title="SciFact: abstracts that support or refute a claim (BEIR format)",
        files={
            "corpus": DatasetFile(("doc_id", "title", "text"), 5183,
                "fa94d1667c497fead5c0b5b51bcf6473fe616c4b2a29185f440b8dc48f37f77a", 5183, aliases={"doc_id": "_id"},
                hub=HubFiles(*SCIFACT, ("corpus.jsonl",))),
            "queries": DatasetFile(("query_id", "text"), 1109,
                "f3fd55f97561d342e188c1c51f153f4b2df4fee43c7b7d96dd7a12ade56c6177", 1109, aliases={"query_id": "_id"},
                hub=HubFiles(*SCIFACT, ("queries.jsonl",))),
            "qrels": DatasetFile(("query_id", "doc_id", "score", "split"), 1258,
                "386af192a2ffc30bb5f917a8dd97cc9240f1ed2ad8dcbef1806b36f4930d25a6", 1258,
                aliases={"query_id": "query-id", "doc_id": "corpus-id"},
                hub=HubFiles(*SCIFACT, ("qrels/train.tsv", "qrels/test.tsv"), filename_column="split"),
                note="919 training and 339 test relevance judgements."),
        },
        licence="CC BY 4.0", terms="Claims: CC BY 4.0; abstracts: ODC-By 1.0.",
        citation="Wadden et al. 2020, Fact or fiction, 2020.emnlp-main.609; Thakur et al. 2021, BEIR",
        homepage="https://github.com/allenai/scifact", obtain="the hub's mteb/scifact, or BEIR's scifact.zip",
    ),
    Dataset(
        name="wiki_sections", title="Sentence triplets from Wikipedia sections: a small set after Ein Dor et al.",
        files={
            "triplets": DatasetFile((*TRIPLETS, "split"), 11400,
                "bb50804f29b964916d880f604c45c28307232e296cf4bf3c327c20010defb855", kind="look-alike",
                note="7,400 training and 4,000 test rows."),
            "sentences": DatasetFile(("article", "section", "text"), 9270,
                "9e172d9fa6d032cdbabd4bec6895b57db0873a4f30b067250300fa2970d82a5e", kind="look-alike"),
        },
        licence="CC BY-SA 3.0", terms="Wikipedia's licences, CC BY-SA 3.0 and GFDL.",
        citation="built as in Ein Dor et al. 2018, P18-2009, from WikiText-2 (Merity et al. 2017)",
        homepage="https://en.wikipedia.org/wiki/Wikipedia:Featured_articles",
        obtain="60 articles from WikiText-2's raw test file, split into sentences and sections; train and test share "
        "no article", note="Scores are not comparable with those on Dor et al.'s data (wiki_sections_dor).",
    ),
    Dataset(
        name="wiki_sections_dor", title="Sentence triplets from Wikipedia sections (Dor et al.)",
        files={
            "train": DatasetFile(TRIPLETS, aliases=DOR, note="About 1.8 million rows."),
            "validation": DatasetFile(TRIPLETS, aliases=DOR),
            "test": DatasetFile(TRIPLETS, published=222957, aliases=DOR),
        },
        licence="not stated",
        citation="Ein Dor et al. 2018, Learning thematic similarity metric from article sections, P18-2009",
        homepage="https://sbert.net/datasets/wikipedia-sections-triplets.zip",
        obtain="the zip file at the homepage; its train.csv, validation.csv and test.csv can be used unchanged",
    ),
    Dataset(
        name="diverse_text",
        title="Sentences, passages, definitions and questions from science, medicine, computing and more",
        files={
            f"part-{number}": DatasetFile(("text", "source", "kind"), rows, sha256)
            for number, (rows, sha256) in enumerate((
                (226830, "82cd7f4e072692692390696f6c1f2bfa6262442e8dd24ed7f0a8222e66809885"),
                (226830, "138846598c52d73aa7d6c9c944f3364906243c323689a2a0f420ffaf706d4025"),
                (226829, "bc4a537590e1a99e661fa493ba397550b5d9d06dbdb0fdda599ba414be2dccc7"),
            ))
        },
        licence="mixed",
        terms="Each text keeps its source's terms: public domain, CC0, CC BY, CC BY-SA, GFDL, GPL or other free terms.",
        citation="arXiv metadata, MedQuAD, WordNet 3.0, OpenTriviaQA, GCIDE, FOLDOC, OpenStax, PLOS: 84 sources",
        homepage="https://github.com/staeiou/arxiv_archive",
        obtain="docs/diverse-text.md lists every source with its version and licence; texts are sentences and passages "
        "of 12 to 1,200 characters, no two of which have the same letters and digits",
        note="It contains no test text, and no sequence of nine words from a test text.",
    ),
    Dataset(
        name="flickr30k_captions", title="Flickr30k: five captions per image",
        files={
            "train": DatasetFile(("image_id", *CAPTIONS), 29000,
                "f29c75341c4f384740b44126eb5b430125f7d54aac6bda1ca2c6a57a67fa9091", 29000),
            "val": DatasetFile(("image_id", *CAPTIONS), 1014,
                "d9b09efc3e1e5faf8c76955f73e9f5b9b5335aba11506f9b260be91ff9523db9", 1014),
            "test_2016": DatasetFile(("image_id", *CAPTIONS), 1000,
                "f4db18a29e140af7517884abffa0fb7e9286cd93962cf9e0f5ef27e20dedfcf6", 1000),
        },
        licence="research only",
        terms="To our knowledge, Flickr30k is for research only and Multi30K is CC BY-NC-SA; our copy states no terms.",
        citation="Young et al. 2014, Q14-1006; Elliott et al. 2016, Multi30K, W16-3210",
        homepage="https://github.com/multi30k/dataset", obtain="data/task2/raw in multi30k/dataset on GitHub",
        note="Train contains 1,210 of STS15's 5,156 distinct texts (comparing letters and digits only), and SNLI's "
        "premises are Flickr30k captions; the columns in_sts_eval and in_snli_eval mark the rows to leave out.",
    ),
)  # fmt: skip
