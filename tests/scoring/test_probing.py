"""Probe metrics: rejection rate, language prior, and accuracy against the truth of an unseen image."""

from dataclasses import replace

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.scoring.probing import probe_scores
from tests.scoring.make import by_metric, item, values
from tests.tabled import tabled


def of_kind(i):
    return i.id.rpartition("-")[2]


def test_each_kind_has_its_rejection_rate_with_an_interval():
    items = [item(f"{i}-none", Unparsed("refused") if i < 3 else "yes", "no") for i in range(10)]
    items += [item(f"{i}-foreign", "yes", "yes") for i in range(10)]
    scores = probe_scores("p", items, of_kind)
    assert {s.subset for s in scores} == {"all", "kind=none", "kind=foreign"}
    refused = by_metric(scores, "kind=none")["share_refused"]
    assert (refused.value, refused.n) == (0.3, 10)
    assert refused.low < 0.3 < refused.high
    assert values(scores)["share_refused"] == 0.15
    assert values(scores, "kind=none")["accuracy_own_image"] == 0.0
    assert "accuracy_own_image" not in values(scores, "kind=foreign")
    assert "accuracy_own_image" not in values(scores)


def test_the_prior_is_over_what_was_answered_and_regions_count_as_one_answer():
    answers = [{1: "disc", 2: "cup"}, {2: "cup", 1: "disc"}, {1: "cup"}, Unparsed("no_match")]
    items = [item(f"{i}-none", a, {1: "disc", 2: "cup"}) for i, a in enumerate(answers)]
    got = by_metric(probe_scores("p", items, of_kind), "kind=none")
    assert (got["share_most_frequent"].value, got["share_most_frequent"].n) == (pytest.approx(2 / 3), 3)
    assert (got["accuracy_own_image"].value, got["accuracy_own_image"].n) == (0.5, 4)


def test_all_refused_has_no_prior():
    got = by_metric(probe_scores("p", [item("1-none", Unparsed("refused"), "yes")], of_kind))
    assert (got["share_most_frequent"].value, got["share_most_frequent"].n) == (None, 0)
    assert got["share_refused"].value == 1.0


def test_no_items_no_scores():
    assert probe_scores("p", [], of_kind) == []


def test_stages_are_of_one_kind_each_and_never_of_several():
    truths = {"none": {"LC": "yes", "DD": "yes"}, "options": {"LC": "yes", "DD": "no"}}
    items = [
        item(f"{n}-{stage}-{kind}", "yes", truth, chain_step=stage, tags={"stage": stage, "level": "S", "wording": "0"})
        for n in range(5)
        for kind, stages in truths.items()
        for stage, truth in stages.items()
    ]
    scores = probe_scores("p", items, of_kind)
    crossed = {f"kind={kind};{name}" for kind in truths for name in ("stage=LC", "stage=DD", "level=S")}
    assert {s.subset for s in scores} == {"all", "kind=none", "kind=options", "wording=0", *crossed}
    cells = {s.subset: (s.value, s.n) for s in scores if s.metric == "accuracy_own_image"}
    assert (cells["kind=none;stage=DD"], cells["kind=options;stage=DD"]) == ((1.0, 5), (0.0, 5))
    assert cells["kind=options"] == (0.5, 10)


def test_a_stage_without_a_tag_is_that_of_the_chain():
    scores = probe_scores("p", [item("1-none", "yes", "yes", chain_step="AL")], of_kind)
    assert "kind=none;stage=AL" in {s.subset for s in scores}


def test_open_answers_have_rules_on_words_and_no_chance():
    said = [("macular hole", "answered"), ("no macular hole", "answered"), ("pale disc", "answered"), ("", "refused")]
    items = [
        item(f"q{k}", text if status == "answered" else Unparsed("refused"), "macular hole", ())
        for k, (text, status) in enumerate(said)
    ]  # fmt: skip
    found = {
        s.metric: s.value for s in probe_scores("open_question_probe", items, lambda _: "none") if s.subset == "all"
    }
    assert (found["exact_match"], found["containment"], found["share_refused"]) == (0.25, 0.5, 0.25)
    assert not {"chance", "accuracy_own_image", "share_most_frequent"} & found.keys()


@tabled("key", ["kind", "stage", "level", "condition"])
@tabled("value", ["integration", "none", "foreign"])
def test_a_tag_of_any_name_never_mixes_the_items_of_a_kind(key, value):
    """Questions about several images have a tag ``kind`` of their own."""
    items = [
        replace(item(f"{i}-{kind}", "yes", "yes"), tags={key: value if i % 2 else "other"})
        for i in range(6)
        for kind in ("none", "another", "foreign")
    ]
    scores = probe_scores("p", items, of_kind)
    for kind in ("none", "another", "foreign"):
        assert values(scores, f"kind={kind}").get("accuracy_own_image") == (None if kind == "foreign" else 1.0)
        assert by_metric(scores, f"kind={kind}")["share_refused"].n == 6
    assert {s.subset for s in scores if s.subset.startswith("kind=") and ";" not in s.subset} == {
        "kind=none", "kind=another", "kind=foreign",
    }  # fmt: skip
