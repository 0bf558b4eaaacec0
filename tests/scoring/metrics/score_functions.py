"""Score functions at module level, so that metrics with them can be pickled and sent to other processes."""

from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import items_of
from lmod_train.scoring.region_scores import region_scores

CHOICES = ("yes", "no")


def binary(predictions):
    items = items_of(predictions, lambda p: p.record.answer)
    return classification_scores("demo", items, CHOICES, positive="yes")


def anatomy(predictions):
    return region_scores("anatomy", items_of(predictions, lambda p: {r.id: r.structure for r in p.record.regions}))
