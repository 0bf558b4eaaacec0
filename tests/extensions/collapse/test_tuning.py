"""One training of the lab: it writes replies, keeps every loss, and is the same again with the same seed."""

import pytest

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.extensions.collapse.lab import Recipe, data_of, tuned
from lmod_train.tasks.glaucoma import Glaucoma


@pytest.fixture
def curated(lab_folder):
    return lab_folder / "curated"


def test_a_training_of_two_steps_has_two_losses_and_a_reply_to_each_record_of_the_split(curated, tmp_path):
    recipe = Recipe(steps=2, max_new_tokens=4)
    losses = []
    for split in ("val", "test"):
        data = data_of(curated, Glaucoma(), "CFP", 3, split)
        module, own = tuned(tmp_path / split, "small_base", data, 3, recipe)
        asked = {record.id for record in data.records(split)}
        assert {reply.id for reply in read_replies(Run(tmp_path / split).replies).values()} == asked != set()
        losses.append(own)
    assert len(losses[0]) == 2 and losses[0] == losses[1], "what is asked afterwards changes no training"
    trained = {module.dialect.family.part(n) for n, p in module.named_parameters() if p.requires_grad}
    assert trained == {"projector", "language_model"}  # its head is the table of its embeddings
