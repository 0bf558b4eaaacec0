"""Probes of the tests' own: the glaucoma question without its image, with another's, with no eye at all."""

from dataclasses import replace

from lmod_train.core.types import Unparsed
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import items_of
from tests.data.curation.world import Glaucoma


class Without(Glaucoma):
    """The question of `Glaucoma` once for each kind, in the manner of a probe: variant = kind, no stratum."""

    name, version = "glaucoma_probe", 1

    def __init__(self, kinds=("none", "another", "foreign"), language="en"):
        super().__init__(language)
        self.kinds = list(kinds)

    def ask(self, sample):
        for question in super().ask(sample):
            for kind in self.kinds:
                yield replace(question, task=self.name, shows=kind, variant=kind, stratum="")

    def parse(self, reply, record):
        return reply.reply if reply.reply in self.choices else Unparsed("no_match")

    def score(self, predictions):
        return classification_scores(self.name, items_of(predictions, lambda p: p.record.answer), self.choices)
