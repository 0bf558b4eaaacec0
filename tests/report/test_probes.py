"""Which question a probe belongs to: known pairs of chains with several stages and questions a stage."""

from dataclasses import replace

from lmod_train.report.probes import named_as_asked, own_ids, probed
from tests.report.probing import question, run_of, said

STAGES = ("IQA", "DD", "CD")
VARIANTS = ("q1", "q2")


def predictions(kinds=("none",), cases=3):
    """Right with the image; without it, right at IQA, at the first question of DD, and never at CD."""
    places = [(case, stage, variant) for case in range(cases) for stage in STAGES for variant in VARIANTS]
    own = [said(question(*place), True) for place in places]
    for kind in kinds:
        own += [said(question(*p, kind), p[1] == "IQA" or p[1:] == ("DD", "q1")) for p in places]
    return own


def test_stages_and_questions_of_one_image_stay_apart():
    _, outcomes = run_of("run", predictions())
    (found,) = probed(outcomes)
    assert (found.task, found.kind, found.stages) == ("chain", "none", ["IQA", "DD", "CD"])
    assert len(found.pairs) == len(found.items) == 3 * 3 * 2
    right = {stage: [b.answer == b.truth for _, b in found.at(stage).pairs] for stage in STAGES}
    assert [(len(cells), sum(cells)) for cells in right.values()] == [(6, 6), (6, 3), (6, 0)]


def test_a_probe_is_paired_with_its_own_question_alone():
    _, outcomes = run_of("run", predictions(("none", "options")))
    ids = own_ids(outcomes, "chain", "none", outcomes)
    assert ids["chain_probe/phantoms/1/DD/q2-none"] == "chain/phantoms/1/DD/q2"
    assert len(set(ids.values())) == len(ids) == 18 and all(id.endswith("-none") for id in ids)
    assert {item.id for item in named_as_asked(outcomes, "chain", "options", outcomes)} == set(ids.values())


def test_questions_in_several_orders_are_paired_order_by_order():
    """The probe is right in the first order alone; collapsed orders would give all or nothing."""
    made = []
    for p in predictions():
        made.append(said(replace(p.record, tags={**p.record.tags, "order": "0"}), True))
        tags, id = {**p.record.tags, "order": "1"}, f"{p.record.id}/order-1"
        made.append(said(replace(p.record, id=id, tags=tags), p.record.task == "chain"))
    (found,) = probed(run_of("run", made)[1])
    assert len(found.pairs) == 36
    for one, other in found.pairs:
        assert (other.answer == other.truth) == (one.tags["order"] == "0")


def test_probes_without_their_question_are_in_no_pair():
    lacking = [p for p in predictions() if (p.record.task, p.record.chain_step) != ("chain", "CD")]
    (found,) = probed(run_of("run", lacking)[1])
    assert (len(found.items), len(found.pairs), found.at("CD").pairs) == (18, 12, ())


def test_pairs_are_grouped_by_the_patient_of_the_question():
    """A probe without an image and a patient has no other group than its question."""
    (found,) = probed(run_of("run", [replace_group(p) for p in predictions()])[1])
    assert {other.group for _, other in found.pairs} == {one.group for one, _ in found.pairs}
    assert len({one.group for one, _ in found.pairs}) == 3


def replace_group(p):
    image = (f"{p.record.key}.png",) if p.record.task == "chain" else ()
    return replace(p, record=replace(p.record, group="", image=image))


def test_the_stages_are_those_of_all_questions():
    from types import SimpleNamespace

    from lmod_train.report.probes import Probed

    asked = tuple(SimpleNamespace(chain_step=stage) for stage in ("", "CD", "IQA"))
    assert Probed("chain", "plain", asked, ()).stages == ["IQA", "CD"]
