"""Counts of chains, missing earlier answers, followed answers and shuffled options, recomputed by hand."""

from collections import defaultdict
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.extension import named
from lmod_train.core.tables import Table
from lmod_train.core.types import Message, Part, Prediction, Reply, Unparsed
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import source_classes
from lmod_train.extensions.xpcr.account import account
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.regimes import in_regime
from tests.drawn import drawn_folders
from tests.report.chained import MISSING, answered, asked, chain_run, parts_of, planted, results_of


def tables(*runs):
    return {p.name: p.rows for p in parts_of(account, results_of(*runs)) if isinstance(p, Table)}


def cascade(rows, *, last=False):
    """Predictions whose words hold a placeholder for each need, as the engine asks them."""
    made, before = [], {}
    for p in planted(rows, regime="cas_last" if last else "cas_all"):
        earlier = before.setdefault(p.record.chain, [])
        needs = tuple(earlier[-1:] if last else earlier)
        text = " ".join(f"{{answer {n}}}" for n in range(1, len(needs) + 1))
        record = replace(p.record, needs=needs, messages=(Message("user", (Part("text", f"{text} Which?"),)),))
        earlier.append(record.id)
        made.append(replace(p, record=record))
    return made


ROWS = [
    [True] * 6,
    [True, MISSING, True, True, True, True],
    [True, True, None, True, True, None],
]


def test_chains_and_missing_earlier_answers():
    found = tables(chain_run("all", cascade(ROWS)), chain_run("last", cascade(ROWS, last=True)))
    assert found["chain_account-chain"] == (
        ("base, cas_all", "cas_all", 16, 3, 2, 1, 13, 4, 4 / 13),  # LC, DD, SG and CD of the second chain
        ("base, cas_last", "cas_last", 16, 3, 2, 1, 13, 1, 1 / 13),
    )
    assert found["incomplete-chain"][:2] == (("base, cas_all", "LC", 1, 1), ("base, cas_all", "CD", 1, 1))


def test_alone_no_question_holds_an_earlier_answer():
    found = tables(chain_run("one", planted(ROWS[:2])))
    assert found == {"chain_account-chain": (("one", "independent", 12, 2, 2, 0, 0, 0, None),)}


def test_a_wrong_answer_is_followed_if_the_answer_is_an_option_that_contains_it():
    options = ("Retinal vein occlusion, refer", "Glaucoma, refer", "Normal, review", "Glaucoma, observe")
    made = []
    for case, answer in enumerate((options[0], options[2], MISSING, options[0], options[0])):
        question = asked(case, "CD", tags={"regime": "planted", "planted": "retinal vein occlusion"})
        truth = options[0] if case == 4 else options[1]  # of the last one the truth contains it: nothing to follow
        made.append(answered(replace(question, choices=options, answer=truth), answer))
    unlike = asked(9, "SG", tags={"regime": "planted", "planted": "drusen"})
    found = tables(chain_run("one", [*made, answered(unlike, "alpha")]))["followed-chain"]
    assert [row[:4] for row in found] == [("one", "all", 4, 0.5), ("one", "CD", 4, 0.5)]
    assert [row[5:] for row in found] == [(0.25, 6), (0.25, 5)], "one option of four contains it"


def test_without_an_option_that_follows_n_is_0_and_stated():
    made = [answered(asked(i, "SG", tags={"regime": "planted", "planted": "drusen"}), "alpha") for i in range(3)]
    (row,) = tables(chain_run("one", made))["followed-chain"]
    assert row[:4] == ("one", "all", 0, None) and row[5:] == (None, 3)


def test_options_that_are_implied_count_where_none_contains_the_words():
    tags = {"regime": "planted", "planted": "drusen", "implied": "alpha\ngamma"}
    answers = ("alpha", "gamma", "delta", MISSING, "beta")
    made = [answered(asked(i, "SG", tags=tags), answer) for i, answer in enumerate(answers)]
    made += [answered(asked(9, "SG", tags=tags | {"implied": "alpha\nbeta"}), "alpha")]  # the truth is implied
    made += [answered(asked(8, "CD", tags=tags | {"planted": "delt"}), "delta")]  # its words come before
    found = tables(chain_run("one", made))["followed-chain"]
    assert [row[1:4] for row in found] == [("all", 6, 0.5), ("SG", 5, 0.4), ("CD", 1, 1.0)]


# What a planted answer implies, by the meaning of its words, without the package's tables.
GASS = {"impending hole only": "1", "full-thickness hole": "234"}
NEXT = {
    "Gass stage 1": ["review"], **{f"Gass stage {n}": ["treat"] for n in "234"},
    "ICDR grade 0": ["observe"], "ICDR grade 1": ["review", "refer"],
    **{f"ICDR grade {n}": ["refer"] for n in "23"}, "ICDR grade 4": ["treat"],
}  # fmt: skip


def follows(record):
    """Return the wrong options that agree with the planted answer in the words of a record; empty if the truth does."""
    said = record.messages[0].parts[1].text.partition("\n")[0]
    words = next((w for w in (*GASS, *NEXT) if f" {w} " in said or f" {w}." in said), "")
    if record.chain_step == "SG":
        healthy = "neither" in said or "but without diabetic retinopathy" in said
        levels = GASS.get(words, "") or ("0" if healthy else "1234") * ("diabetic retinopathy" in said)
        found = [o for o in record.choices if o[-1] in levels]
    else:
        starts = NEXT.get(words, []) if record.chain_step == "CD" else []
        found = [o for o in record.choices if o.split()[0].rstrip(",") in starts]
    truth = Chain().parse(Reply(record.id, record.answer), record)
    return truth, [] if truth in found else found


@pytest.fixture(scope="module")
def wrongly_told(tmp_path_factory):
    """Records of the phantoms of OIMHS and BRSET after a planted answer."""
    root = tmp_path_factory.mktemp("planted")
    for name in ("oimhs", "brset"):
        named(drawn_folders()[name]).write(root / name, 48, 5, size=64, workers=0)
    sources = [source_classes()[name](root / name) for name in ("oimhs", "brset")]
    curate(sources, [Chain()], root / "out", longest_side=32, workers=1, progress=False)
    records = {r.id: r for r in read_records(root / "out" / "records")}
    return in_regime(list(records.values()), {"chain": Chain()}, "planted", records)


@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize("source", ["oimhs", "brset"])
def test_the_rate_of_a_scripted_follower_is_recovered(wrongly_told, source, share):
    """It follows the first questions of a stage that can be; to the others it gives a right, a wrong or no answer."""
    able, made, expected = defaultdict(list), [], {}
    for asked_of in wrongly_told:
        truth, wrong = follows(asked_of)
        record = replace(asked_of, answer=truth)  # `chain_run` takes it as the truth
        if record.source == source and wrong:
            able[record.chain_step].append((record, truth, wrong))
        elif record.source == source:
            made.append(Prediction(record, Reply(record.id, "", model="base"), truth))
    for stage, several in able.items():
        followed = round(share * len(several))
        expected[stage] = len(several), followed
        for place, (record, truth, wrong) in enumerate(several):
            other = next((o for o in record.choices if o not in (truth, *wrong)), truth)
            answer = wrong[place % len(wrong)] if place < followed else (truth, other, Unparsed("no_match"))[place % 3]
            made.append(Prediction(record, Reply(record.id, "", model="base"), answer))
    assert set(expected) == {"SG", "CD"} and all(n > 4 for n, _ in expected.values())
    found = tables(chain_run("one", made))["followed-chain"]
    rows = {row[1]: (row[2], row[3]) for row in found}
    total = sum(n for n, _ in expected.values())
    assert rows.pop("all") == (total, sum(k for _, k in expected.values()) / total)
    assert rows == {stage: (n, k / n) for stage, (n, k) in expected.items()}


def test_right_answers_that_a_planted_answer_turns_into_wrong_ones():
    alone = [[True, True, True, True, False, True], [True, True, False, True, True, True]]
    after = [[False, False, True, False, True, True], [True, True, False, True, True, False]]
    runs = [planted(alone), planted(after, regime="planted", tags={"planted": "drusen"})]
    runs[1] = [p for p in runs[1] if p.record.chain_step != "IQA"] + [
        p for p in runs[0] if p.record.chain_step == "IQA"
    ]
    found = tables(chain_run("a", runs[0]), chain_run("b", runs[1]))["turned-chain"]
    rows = {row[1]: (row[2], row[3]) for row in found}
    assert rows["all"] == (8, 3 / 8)  # AL, LC, DD, SG and CD have ten questions, eight of them right alone
    assert (rows["AL"], rows["LC"], rows["DD"], rows["SG"], rows["CD"]) == (
        (2, 0.5),
        (1, 0),
        (2, 0.5),
        (1, 0),
        (2, 0.5),
    )
    assert "IQA" not in rows, "the first question holds no earlier answer"


def test_shuffled_options_have_the_same_answer():
    made = []
    for case, (first, second) in enumerate(
        [("beta", "beta"), ("alpha", "beta"), (MISSING, MISSING), ("gamma", "gamma")]
    ):
        for order, answer in (("0", first), ("1", second)):
            question = asked(case, "DD", tags={"order": order})
            id = question.id if order == "0" else f"{question.id}/order-1"
            made.append(answered(replace(question, id=id), answer))
    found = tables(chain_run("one", made))["shuffled-chain"]
    assert [row[:4] for row in found] == [("one", "all", 4, 0.5), ("one", "DD", 4, 0.5)]
    assert found[0][4][0] < 0.5 < found[0][4][1] and found[0][3] == pytest.approx(0.5)
