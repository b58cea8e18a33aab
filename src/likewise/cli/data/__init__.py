"""Describes data sets, finds test data in training data, and mines hard negatives."""

from ..parser import Entry

ACTIONS = {
    "list": Entry("list_data", "list all data sets, and show which of their files you have"),
    "show": Entry("show", "show a data set in full: licence, citation, first rows, how to get it"),
    "leaks": Entry("leaks", "count the test texts and pairs that also occur in training data"),
    "mine": Entry("mine", "find hard negatives for pairs"),
}

EPILOG = """examples:
  likewise data list
  likewise data show stsb
  likewise data leaks stsb/train
  likewise data mine all-MiniLM-L6-v2 nli/triplets -k 3 -o mined.parquet

Data sets are read from the folder LIKEWISE_DATA, as stsb/test.parquet, .csv, .tsv or .jsonl; some are downloaded from
the Hugging Face hub on first use (extra: hub). To use your own file, give its path; it needs a column named text, or
the columns sentence1 and sentence2, or anchor, positive and negative.

Each action has its own help, with examples: likewise data mine --help"""
