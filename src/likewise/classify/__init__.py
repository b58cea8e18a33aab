"""Classify texts by logistic regression on a frozen model's vectors, with calibrated probabilities, without torch.

>>> from likewise.classify import Classifier
>>> classifier = Classifier.fit(texts, labels, "likewise-mini")                             # doctest: +SKIP
>>> classifier.predict(["a new text"]), classifier.report                                   # doctest: +SKIP
>>> classifier.save("my-classifier"); Classifier.load("my-classifier")                      # doctest: +SKIP
"""

from .classifier import Classifier, FitReport

__all__ = ["Classifier", "FitReport"]
