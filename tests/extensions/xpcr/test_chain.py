"""Chains: words, needs, ready questions, account; and every truth of curated phantoms against what was drawn."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import source_classes
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.parsed_replies import scores_of
from tests.contracts import record_from
from tests.extensions.xpcr.samples import cupped, flagged, sample, scan
from tests.tabled import stored, tabled
from tests.tasks.conftest import DRAWN, SIZE

TASK = Chain()
STAGES_OF = {"fairseg": "IQA AL LC SG", "cataract_detection_2": "IQA AL DD", "cataract_1k": "IQA AL LC"}


@pytest.fixture(scope="module")
def curated(drawn, tmp_path_factory):
    """Chains of the phantoms of every source, as `curate` writes them."""
    root = tmp_path_factory.mktemp("chains")
    options = {name: {"lesions": True} if name == "idrid" else {} for name in DRAWN}
    sources = [source_classes()[name](drawn / name, **options[name]) for name in DRAWN]
    curate(sources, [TASK], root / "out", ratios=(0.6, 0.2, 0.2), longest_side=48, workers=1, progress=False)
    return root / "out"


PLAIN = Chain(perturbed=0)


def asked(one, task=PLAIN):
    return {q.chain_step: q for q in task.ask(one)}


def test_a_chain_asks_what_has_a_truth_and_needs_what_came_before():
    questions = asked(scan(quality="blurred"))
    assert tuple(questions) == STAGE_NAMES
    assert [tuple(n.chain_step for n in q.needs) for q in questions.values()] == [STAGE_NAMES[:i] for i in range(6)]
    assert {q.chain for q in questions.values()} == {"k"}
    assert [q.tags for q in questions.values()][::5] == [
        {"stage": "IQA", "level": "R", "impact": "4"},
        {"stage": "CD", "level": "S", "impact": "4"},
    ]
    assert tuple(asked(cupped(0.6))) == ("AL", "LC", "DD", "SG", "CD")
    assert asked(sample()) == {} == asked(scan(), Chain(sources=["other"], perturbed=1))
    assert asked(sample(boxes=[("optic disc", 10, 10, 50, 50)]))["AL"].tags == {"stage": "AL", "level": "R"}


def test_the_metrics_without_records_are_those_of_scores_csv(curated):
    records = list(read_records(curated / "records"))
    scores = scores_of([TASK], [TASK.prediction(r, Reply(r.id, r.answer)) for r in records])
    assert {*TASK.metric_names()} == {s.metric for s in scores if s.subset == "all"}


def test_replies_state_the_text_of_an_option_where_that_is_asked_for():
    in_words, letters = asked(scan(), Chain(stated="text", perturbed=0)), asked(scan())
    for stage, question in in_words.items():
        record = record_from(question, scan(), TASK)
        read = [TASK.parse(Reply("", answer), record) for answer in (question.answer, letters[stage].answer)]
        assert question.choices == letters[stage].choices
        assert read[0] == read[1] == question.answer.removeprefix("Answer: ")
    with pytest.raises(BadArgument, match="stated='word'"):
        Chain(stated="word")


def test_ready_questions_are_asked_instead():
    own = tuple(PLAIN.ask(scan()))
    ready = replace(
        sample(asked=(replace(own[0], chain_step="IQA"), replace(own[1], task="other"))), labels={"icdr": "2"}
    )
    assert [q.chain_step for q in TASK.ask(ready)] == ["IQA"]
    assert TASK.placed(ready, ready.asked[0], 2) is ready.asked[0]
    assert all(q.perturbation for q in Chain(perturbed=1).ask(scan())) and not any(q.perturbation for q in own)
    chinese = replace(sample(), asked=(replace(own[0], language="zh"),))
    assert list(PLAIN.ask(chinese)) == []


@tabled(
    ("reply", "answer"),
    stored(__file__, "chain.the_letter_becomes_the_text_of_the_option"),
)
def test_the_letter_becomes_the_text_of_the_option(reply, answer):
    record = record_from(asked(scan())["DD"], scan(), TASK)
    parsed = TASK.parse(Reply(record.id, reply), record)
    assert parsed == record.choices[answer] if isinstance(answer, int) else parsed.reason == answer


def test_the_stated_confidence_is_read():
    record = record_from(asked(scan())["DD"], scan(), TASK)
    replies = ("Answer: B; Confidence: 80%", "Answer: B")
    assert [TASK.confidence(Reply(record.id, text), record) for text in replies] == [0.8, None]


def test_a_perfect_responder_is_right_at_every_stage():
    predictions = []
    for one in (scan(key="a", quality="blurred"), flagged("2", key="k3"), cupped(0.6, key="c")):
        for question in TASK.ask(one):
            record = replace(record_from(question, one, TASK), id=f"{one.key}/{question.chain_step}")
            answer = TASK.parse(Reply(record.id, question.answer), record)
            assert not isinstance(answer, Unparsed) and answer in record.choices
            predictions.append(Prediction(record, Reply(record.id, question.answer), answer))
    scores = {(s.subset, s.metric): s for s in TASK.score(predictions)}
    assert all(scores[f"stage={stage}", "swa"].value == 1 for stage in STAGE_NAMES)
    assert scores["all", "ccr"].value == 1 and TASK.score([]) == []


def test_the_account_counts_truths_by_origin_and_reasons():
    ready = sample("r", asked=tuple(PLAIN.ask(scan(quality="blurred"))))
    account = PLAIN.account([scan(quality="blurred"), scan(key="b", hole=None), ready])
    source = account["sources"]["s"]
    assert account["management_table"] == "draft, not yet read by a clinician"
    assert {name: source[name] for name in ("samples", "ready", "chains", "complete")} == {
        "samples": 3,
        "ready": 1,
        "chains": 3,
        "complete": 2,
    }
    assert source["stages"]["IQA"] == {"truths": 1, "from": {"quality flags": 1}, "missing": {"no quality flag": 1}}
    assert source["stages"]["DD"]["missing"] == {"the mask shows no hole": 1}
    assert Chain(sources=["other"]).account([scan()]) == {}


# Below: what was drawn, told from the phantoms' own truth without the task's functions.

DEFECTS = stored(__file__, "chain.DEFECTS")  # fmt: skip
DECISIONS = {  # management as the references have it, by what the phantom's labels and boxes say
    ("icdr", "0"): "observe", ("icdr", "1"): "review", ("icdr", "2"): "refer", ("icdr", "3"): "refer",
    ("icdr", "4"): "treat", ("hole", "1"): "review", ("hole", "2"): "treat", ("hole", "3"): "treat",
    ("hole", "4"): "treat", ("yes", "0"): "treat", ("yes", "1"): "treat", ("yes", "2"): "treat", ("yes", "3"): "treat",
    ("no", "0"): "observe", ("no", "1"): "review", ("no", "2"): "refer", ("no", "3"): "refer",
}  # fmt: skip


def facts_of(truth):
    """Return which phrases are true of a phantom, and numbers of its boxes."""
    labels, boxes = truth.labels, dict(truth.boxes)
    true = {word for word, flag in DEFECTS.items() if flag in (truth.patient.quality or "")}
    true |= set(boxes) | {name for name, label in labels.items() if label == "yes"}
    names = {"drusen": "drusen", "a scar": "scar", "a nevus": "nevus", "a large cup": "increased cup-to-disc ratio"}
    true |= {word for word, name in names.items() if labels.get(name) == "yes"}
    if labels.get("macular_edema_risk", "0") != "0":
        true.add("a risk of macular edema")
    if labels.get("icdr", "0") != "0":
        true.add("diabetic retinopathy")
    return true


def ratio_of(boxes):
    return (boxes["optic cup"].y1 - boxes["optic cup"].y0) / (boxes["optic disc"].y1 - boxes["optic disc"].y0)


def middle(box):
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


ADDED = {
    "no notable defects": "", "out-of-focus image": "blur", "underexposed image": "underexposure",
    "over-exposed image": "overexposure", "shadow on one side": "shadow", "image side cut off": "crop",
}  # fmt: skip


def is_right(option, truth, record, size):
    """Return whether an option is true of a phantom, by the meaning of its words."""
    stage, question = record.chain_step, record.messages[0].parts[1].text.splitlines()[0]
    labels, boxes, true = truth.labels, dict(truth.boxes), facts_of(truth)
    forms = (
        (r"neither (.+) nor (.+)", lambda a, b: a not in true and b not in true),
        (r"(.+) but without (.+)", lambda a, b: a in true and b not in true),
        (r"(.+), as well as (.+)", lambda a, b: a in true and b in true),
    )
    for pattern, holds in forms:
        found = re.fullmatch(pattern, option)
        if found:
            return holds(*found.groups())
    if stage == "AL":
        if "hole" in question:
            shift = 100 * (middle(boxes["macular hole"])[0] / SIZE - 0.5)
            return ("left" in option) == (shift < 0) and ("above" in option) == (abs(shift) >= 5)
        if "fovea" in question:
            (x, y), (u, v) = middle(boxes["fovea"]), middle(boxes["optic disc"])
            return ("left" in option) == (x < u) and ("above" in option) == (y < v)
        if "quarter" in question:
            x, y = middle(next(boxes[name] for name in ("optic disc", "pupil", "eye") if name in boxes))
            return ("left" in option) == (x < size[0] / 2) and ("upper" in option) == (y < size[1] / 2)
        parts = {"optic nerve head": "optic disc", "the macular area": "macula", "vascular network": "vessels"}
        abnormal = [word for word, name in parts.items() if labels[f"abnormal {name}"] == "yes"]
        assert len(abnormal) < 2
        return option == (abnormal[0] if abnormal else "none is abnormal")
    if stage == "LC":
        low, high = {"u": (0, 0.3), "a": (0.7, 1)}.get(option[0]) or map(float, option.split(" to "))
        return low <= ratio_of(boxes) < high
    if stage == "DD":
        stages = {"impending hole only": "1", "full-thickness hole": "234"}
        if "cataract" in option:
            return ("present" in option) == (labels["diagnosis"] == "cataract")
        if "glaucoma" in option:
            return ("present" in option) == (labels["glaucoma"] == "yes")
        return labels["macular_hole_stage"] in stages.get(option, "")
    if stage == "SG":
        grade = str(sum(ratio_of(boxes) > border for border in (0.5, 0.65, 0.8))) if "cup" in option else ""
        scale = {"I": "icdr", "G": "macular_hole_stage"}.get(option[0], "")
        return option[-1] == (grade or labels[scale])
    if "icdr" in labels:
        edema = labels.get("macular edema") == "yes" or labels.get("macular_edema_risk", "0") != "0"
        key = "icdr", "3" if edema and labels["icdr"] != "4" else labels["icdr"]
    elif "macular_hole_stage" in labels:
        key = "hole", labels["macular_hole_stage"]
    else:
        key = labels["glaucoma"], str(sum(ratio_of(boxes) > border for border in (0.5, 0.65, 0.8)))
    return option.startswith(DECISIONS[key])


def test_of_every_question_one_option_is_true_of_the_drawn_eye_and_it_is_the_answer(curated, truths):
    records = read_records(curated / "records")
    sizes = {(row["source"], row["key"]): (int(row["width"]), int(row["height"])) for row in files(curated)}
    asked_of = defaultdict(set)
    for record in records:
        place = record.source, record.key
        added = record.tags.get("perturbation", "")
        right = [
            option
            for option in record.choices
            if (ADDED[option] == added if option in ADDED else is_right(option, truths[place], record, sizes[place]))
        ]
        assert right == [TASK.parse(Reply(record.id, record.answer), record)], record.id
        asked_of[record.source].add(record.chain_step)
    expected = {name: set(STAGES_OF[name].split()) if name in STAGES_OF else set(STAGE_NAMES) for name in DRAWN}
    assert asked_of == expected
    views = defaultdict(set)
    for record in records:
        views[record.chain].add((record.image, record.tags.get("perturbation", ""), record.tags.get("grade", "")))
    assert all(len(shown) == 1 for shown in views.values()), "a chain is about one image"


def files(curated):
    import csv

    with (curated / "files.csv").open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_the_manifest_counts_what_the_records_hold(curated):
    sources = read_manifest(curated)["accounts"]["chain/en"]["sources"]
    records = read_records(curated / "records")
    assert list(sources) == sorted(DRAWN)
    for name, account in sources.items():
        chains = defaultdict(set)
        for record in records:
            if record.source == name:
                chains[record.chain].add(record.chain_step)
        assert (account["samples"], account["chains"]) == (DRAWN[name], len(chains))
        assert account["complete"] == sum(steps == set(STAGE_NAMES) for steps in chains.values())
        for stage, counts in account["stages"].items():
            assert counts["truths"] == sum(stage in steps for steps in chains.values())
            assert counts["truths"] + sum(counts["missing"].values()) == DRAWN[name]


def test_no_option_is_longest_or_shortest_more_often_than_chance(curated):
    """Options of a list differ by one letter at most, and a longest one, drawn among equals, is right by chance."""
    shares = defaultdict(list)
    for record in read_records(curated / "records"):
        lengths = [len(option) for option in record.choices]
        assert max(lengths) - min(lengths) <= 1
        truth = len(TASK.parse(Reply(record.id, record.answer), record))
        for name, extreme in (("longest", max(lengths)), ("shortest", min(lengths))):
            shares[name, record.chain_step].append((truth == extreme) / lengths.count(extreme) - 1 / len(lengths))
    for (_, stage), gains in shares.items():
        assert abs(sum(gains) / len(gains)) < 0.12, stage
