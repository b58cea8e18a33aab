"""SentEval's classifiers and protocols, and the regressions that tasks train on top of vectors."""
