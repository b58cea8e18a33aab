"""Multilingual, cross-lingual and single-domain test sets, and translations for training."""

from collections.abc import Mapping

from .entry import SCORED, TEXT, Dataset, DatasetFile

TRANSLATIONS = ("lang", "sentence1", "sentence2")
CLUSTERS = "rashadulrakib/short-text-clustering-enhancement on GitHub (commit f363b66), "


def _scored(files: Mapping[str, tuple[int, str]], columns: tuple[str, ...] = SCORED) -> dict[str, DatasetFile]:
    return {name: DatasetFile(columns, rows, sha256, rows) for name, (rows, sha256) in files.items()}


def _translated(files: Mapping[str, tuple[int, str]], columns: tuple[str, ...]) -> dict[str, DatasetFile]:
    return {name: DatasetFile(columns, rows, sha256) for name, (rows, sha256) in files.items()}


def _clusters(name: str, title: str, rows: int, sha256: str, citation: str, homepage: str, note: str = "") -> Dataset:
    return Dataset(
        name=f"cluster_{name}",
        title=title,
        files={"test": DatasetFile(TEXT, rows, sha256, rows)},
        licence="not stated",
        terms="Our copy states no terms; the data set's authors use it for research.",
        citation=citation,
        homepage=homepage,
        obtain=f"{CLUSTERS}folder data; label is the class number",
        note=note,
    )


LANGUAGES_AND_DOMAINS = (
    Dataset(
        name="stsb_multi_mt", title="STS Benchmark in eleven languages, machine-translated",
        files=_scored({
            "train": (63239, "e6d2b5d872cbf8eec9bcf604d531e76c1d347a5037e2816af72a1d044ba4e42e"),
            "dev": (16500, "f504e88d5af5060f0ed8b040b5b5ab3224ab44602ca2b93ac417716bfb2fe0ae"),
            "test": (15169, "8cbbc62814c0e561b30db97a006e74a2532b807db8ce240704ff0ffaab573922"),
        }, ("lang", *SCORED)),
        licence="CC BY-SA 4.0", terms="The scores are CC BY-SA 4.0; the sentences keep the terms of STS-B.",
        citation="May 2021, Machine translated multilingual STS benchmark dataset; Cer et al. 2017, S17-2001",
        homepage="https://github.com/PhilipMay/stsb-multi-mt",
        obtain="data/ of PhilipMay/stsb-multi-mt on GitHub (commit 30de0de), all languages in one file, with the "
        "language in the column lang",
        note="The English part is STS-B itself. As in STS-B, train and test overlap in every language: 257 of the "
        "2,552 distinct English test sentences are also in train.",
    ),
    Dataset(
        name="tatoeba_pairs", title="Tatoeba: sentences in seven languages with English translations, for training",
        files=_translated({
            "deu": (168485, "50c4fff24c99ad527f7125c8fb1ba5ea80147bfae18afb27eadf1b67a6560455"),
            "fra": (141957, "222e78072d7bbce2de07d84b9964fe1a1cc17128384bad58062142e2a45b2027"),
            "spa": (118175, "4225a49591702da5aa310eb997ba1ed5ee0cd167c170054730a77ac7718ebcd0"),
            "jpn": (61498, "0992b924c36ec40c5a38babc3a3244d61d34237bb92c3270120bc6f95deae71f"),
            "nld": (52028, "58d98097bcb74e068775ef4af4de8802659d784d678746fc52a6e248a65832c7"),
            "cmn": (19855, "310a7f3f6c74b4767f656dbf394595a3fc2a07ab93d5fdfd8012f4e1586ad0f2"),
            "vie": (7594, "1157415314f118c72c0b2f9e2564398d69a0f65892d84e10b3a7ea5811764a3c"),
        }, ("english", "sentence", "english_in_any_tatoeba_test")),
        licence="CC BY 2.0 FR", terms="Tatoeba's licence, CC BY 2.0 FR.",
        citation="tatoeba.org, selected by manythings.org/anki", homepage="https://www.manythings.org/anki/",
        obtain="LANGUAGE-eng.zip for each language; our copies are older versions from GitHub repositories and "
        "exclude pairs in which either sentence is in that language's test set in tatoeba_laser",
        note="The column english_in_any_tatoeba_test marks English sentences that are in any language's test set.",
    ),
    Dataset(
        name="multi30k", title="Multi30K: image captions in English, German, French and Czech",
        files=_translated({
            "train": (29000, "1935e72b1cdb9fbf2eb07ea31faeed0f3612b7de512e8c9654eb76906c3900f6"),
        }, ("en", "de", "fr", "cs")),
        licence="research only",
        terms="To our knowledge, Flickr30k is for research only and Multi30K is CC BY-NC-SA; our copy states no terms.",
        citation="Elliott et al. 2016, Multi30K, W16-3210", homepage="https://github.com/multi30k/dataset",
        obtain="data/task1/raw in multi30k/dataset on GitHub (commit a3d2e0d)",
        note="The English captions share sentences with STS-B, STS15, SNLI and SICK.",
    ),
    Dataset(
        name="tico19", title="TICO-19: medical sentences about COVID-19 in English and sixteen other languages",
        files=_translated({
            "all": (49136, "1d8f0e369ec0d13300bab1311e8ba62786d936f846b2f5fb969cea6892281675"),
        }, ("lang", "id", "english", "text")),
        licence="CC0 1.0",
        citation="Anastasopoulos et al. 2020, TICO-19: the translation initiative for COVID-19, 2020.nlpcovid19-2.5",
        homepage="https://tico-19.github.io/", obtain="tico-19/tico-19.github.io on GitHub (commit d97615f)",
    ),
    Dataset(
        name="jsts", title="JSTS: semantic similarity in Japanese (JGLUE)",
        files=_scored({
            "train": (12451, "97fd25370e83210709d9d8457dd1fdb7376b25ce729ffc7e995bf0039e0dc052"),
            "valid": (1457, "d18390a2f2ad86dc3de54dbd0c8a842a41b4f2b59cadb200192a7179ea016c03"),
            "test": (1589, "64355bb872af7316b65b966fbec8b7b6e8dd72d5b2149d23d7e99dcc847d6abd"),
        }),
        licence="CC BY-SA 4.0", citation="Kurihara, Kawahara and Shibata 2022, JGLUE, 2022.lrec-1.317",
        homepage="https://github.com/yahoojapan/JGLUE",
        obtain="datasets/jsts-v1.3 of yahoojapan/JGLUE on GitHub (commit 6f071c0); the score is the column label (0–5)",
        note="The sentences are image captions written in Japanese.",
    ),
    Dataset(
        name="korsts", title="KorSTS: STS Benchmark in Korean",
        files=_scored({
            "train": (5749, "d0cadc4f864276861039550c15a87332654a43c721db31012009a8bccc3b422d"),
            "dev": (1500, "0e4f953863f168192cc10032dcf49d2bddae3a1f721a5a2ab9903c5a54f73458"),
            "test": (1379, "f96f229b5f3983e31c6ede5f86c2f6c2d996329abe47f62e4e5da05f863bb03a"),
        }),
        licence="CC BY-SA 4.0", citation="Ham et al. 2020, KorNLI and KorSTS, 2020.findings-emnlp.39",
        homepage="https://github.com/kakaobrain/KorNLUDatasets",
        obtain="KorSTS/sts-{train,dev,test}.tsv of kakaobrain/KorNLUDatasets on GitHub (commit 0df0fe7), unquoted",
        note="STS-B, machine-translated; people corrected dev and test. As in STS-B, train and test overlap.",
    ),
    Dataset(
        name="tatoeba_laser", title="Tatoeba: sentences in 112 languages and their English translations",
        files={
            "test": DatasetFile(TRANSLATIONS, 88877, "520207a8ae6cb1bf2df70a715fc9f4d21b1725588db56bf1822c8f677a87262c",
                88877, aliases={"sentence1": "sentence", "sentence2": "english"}),
        },
        licence="CC BY 2.0 FR", terms="Tatoeba's licence, CC BY 2.0 FR.",
        citation="Artetxe and Schwenk 2019, Massively multilingual sentence embeddings, Q19-1038",
        homepage="https://github.com/facebookresearch/LASER/tree/main/data/tatoeba/v1",
        obtain="data/tatoeba/v1 of facebookresearch/LASER on GitHub (commit 74bc6ae), with the language (deu, fra …) "
        "in the column lang",
    ),
    Dataset(
        name="xquad_r", title="XQuAD-R: questions and the sentences that answer them, in eleven languages (LAReQA)",
        files={
            "questions": DatasetFile(("lang", "id", "text", "answer_sentence"), 13090,
                "a7125a84b580bf74300029bf68067416d934623eb728e9c3d7325f6409bd15f2", 13090,
                aliases={"text": "question"}),
            "sentences": DatasetFile(("lang", "id", "text"), 13014,
                "d36756d657bb8320482175ba8ff008b66acd5e2557c00b6f000cfc2950341aad", 13014,
                aliases={"text": "sentence"}),
        },
        licence="CC BY-SA 4.0", citation="Roy et al. 2020, LAReQA, 2020.emnlp-main.477; Artetxe et al. 2020, XQuAD, "
        "2020.acl-main.421", homepage="https://github.com/google-research-datasets/lareqa",
        obtain="xquad-r/*.json of google-research-datasets/lareqa on GitHub (commit 9bc8c7f): the id of a sentence is "
        "PARAGRAPH-SENTENCE, and answer_sentence is the id of the sentence with the answer in the question's language",
        note="Questions and paragraphs from SQuAD 1.1's development set, translated by people: a model trained on "
        "SQuAD's training set has seen questions of the same kind.",
    ),
    Dataset(
        name="banking77", title="Banking77: bank customers' questions, labelled by intent",
        files={
            "train": DatasetFile(TEXT, 10003, "856f8b20d63f2e6f535d23bb82be174d5a9eebffa294c83313aca973898e983a",
                10003),
            "test": DatasetFile(TEXT, 3080, "d4c504e960b4f49e331b20e55f85ef7ef35db367cea2ca08919c4e48c896934e", 3080),
        },
        licence="CC BY 4.0",
        citation="Casanueva et al. 2020, Efficient intent detection with dual sentence encoders, 2020.nlp4convai-1.5",
        homepage="https://github.com/PolyAI-LDN/task-specific-datasets",
        obtain="banking_data/{train,test}.csv of PolyAI-LDN/task-specific-datasets on GitHub (commit 57ec275); label "
        "is category",
    ),
    _clusters(
        "stackoverflow", "StackOverflow: question titles on 20 subjects", 20000,
        "a7fe3f36b7e9f78dba3e71696a529c02a8b31b18f951ef947b6b6a685da5f3ce",
        "Xu et al. 2015, Short text clustering via convolutional neural networks, W15-1509",
        "https://github.com/jacoxu/StackOverflow",
    ),
    _clusters(
        "search_snippets", "SearchSnippets: web search results on 8 subjects", 12340,
        "0f32cc88acee911336d0e951a8812d6812127709f8d7e323db403ba9b2229544",
        "Phan, Nguyen and Horiguchi 2008, Learning to classify short and sparse text and web, WWW",
        "https://jwebpro.sourceforge.net/data-web-snippets.tar.gz", "Lower-cased, with function words removed.",
    ),
    _clusters(
        "agnews8000", "AG News: titles and descriptions of 8,000 articles on 4 subjects", 8000,
        "4254189405b60d828cbc5109406edd5851bc0057c45e82366672f3f0c1862016",
        "Rakib et al. 2020, Enhancement of short text clustering by iterative classification, NLDB; "
        "Zhang, Zhao and LeCun 2015, Character-level convolutional networks, NIPS",
        "http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html", "Lower-cased, with function words removed.",
    ),
)  # fmt: skip
