"""Listings of X-PCR, and the facts from which a model drafts questions: truths of records, boxes, never inferred."""

from __future__ import annotations

import json
from dataclasses import replace

from lmod_train.core.types import Box, Region
from lmod_train.extensions.drafting import drafts as facts
from lmod_train.extensions.drafting import drafts as listing
from tests.tabled import tabled
from tests.tiny import record


def test_listings_are_verbatim_and_their_labels_are_those_of_the_parts():
    kept = json.loads(listing.FILE.read_text(encoding="utf-8"))
    assert "supplement, listings 1-6" in kept["source"]
    assert [one["location"] for one in kept["listings"]] == [f"Listing {n}" for n in range(1, 7)]
    texts = {stage: " ".join(one.text.split()) for stage, one in listing.listings().items()}
    for stage in ("LC", "DD"):
        assert all(f"{label}:" in texts[stage] for label in listing.PARTS[stage])
    for stage in ("SG", "CD"):  # joined by "+", without colons
        assert all(label.lower() in texts[stage].lower() for label in listing.PARTS[stage])
    assert "<YES/NO>" in texts["IQA"] and "<PRESENT/ABSENT>" in texts["AL"]


@tabled(
    ("fields", "stage", "truth"),
    [
        ({"task": "icdr", "choices": tuple("01234"), "answer": "Stage: 3"}, "SG", "severe NPDR"),
        ({"task": "icdr", "choices": tuple("01234"), "answer": "Stage: 9"}, "", ""),
        ({"task": "glaucoma"}, "DD", "glaucoma"),
        ({"task": "glaucoma", "answer": "NON-GLAUCOMA"}, "", ""),
        ({"task": "four_way", "choices": ("Cataract", "Normal"), "answer": "DISEASE: Cataract"}, "DD", "cataract"),
        ({"task": "sex", "choices": ("MALE", "FEMALE"), "answer": "MALE"}, "", ""),
        ({"task": "chain", "chain_step": "CD", "choices": ("a", "b"), "answer": "Answer: B"}, "CD", "b"),
        ({"task": "chain", "chain_step": "CD", "choices": ("a", "b"), "answer": "Answer: C"}, "CD", ""),
    ],
)
def test_the_truth_of_a_stage_is_that_of_a_record_and_never_inferred(fields, stage, truth):
    assert facts.truth_of(record(**fields)) == (stage, truth)


def test_boxes_give_place_and_lesion_where_no_chain_does():
    boxes = (Region("optic disc", Box(60, 40, 80, 60), 1), Region("hard exudates", Box(10, 80, 20, 90), 2))
    given = record("anatomy/x/1", task="anatomy", regions=boxes, split="test")
    known = {f.stage: f for _, f in facts.known_of([given], lambda _: (100, 100))}
    assert set(known) == {"AL", "LC"}
    assert (known["LC"].truth, known["LC"].structure) == ("hard exudates", "hard exudates")
    words_ = known["AL"].boxes["hard exudates"]
    assert words_.endswith("centre 3.3 disc diameters from the centre of the optic disc, at 8 o'clock")
    assert facts.known_of([replace(given, language="zh")], lambda _: (1, 1)) == []


def test_the_stage_of_every_scale_is_read():
    from lmod_train.core.vocabulary.scales import SCALES
    from lmod_train.extensions.drafting.drafts import truth_of
    from tests.tiny import record

    for scale in SCALES:
        asked = record("a", task=scale.name, choices=scale.levels, answer=scale.levels[-1])
        assert truth_of(asked) == ("SG", truth_of(asked)[1]) and truth_of(asked)[1]
