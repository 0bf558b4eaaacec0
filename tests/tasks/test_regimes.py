"""What is asked in each regime: the sentences before a question, and that nothing with open placeholders is sent."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import read_conversations
from lmod_train.extensions.xpcr.stages import CLASSES, STAGE_NAMES, STAGES
from lmod_train.tasks.filled import unfilled
from lmod_train.tasks.regimes import in_regime
from tests.chained import WORDS, Words, chain_of, words_of
from tests.tabled import stored, tabled
from tests.tiny import record, write_curated

TASKS = {"words": Words()}
CHAIN = chain_of(1)
KNOWN = {r.id: r for r in CHAIN}


def texts(regime, records=CHAIN, known=KNOWN):
    return [words_of(r) for r in in_regime(records, TASKS, regime, known)]


def test_alone_nothing_changes():
    assert in_regime(CHAIN, TASKS, "independent", KNOWN) == CHAIN


def test_only_the_preceding_answer_is_stated_in_the_words_of_the_paper():
    expected = stored(__file__, "regimes.only_the_preceding_answer_is_stated_in_the_words_of_the_paper")
    assert tuple(texts("cas_last")) == expected
    asked = in_regime(CHAIN, TASKS, "cas_last", KNOWN)
    assert [r.needs for r in asked[1:]] == [(r.id,) for r in CHAIN[:-1]]


def test_where_a_stage_is_missing_the_one_before_it_is_stated_as_a_fact():
    short = chain_of(1, ("IQA", "LC", "CD"))
    found = texts("cas_last", short, {r.id: r for r in short})
    assert [t.partition("\n")[0] for t in found[1:]] == ["Image quality: {answer 1}.", "Findings: {answer 1}."]


def test_all_earlier_answers_are_facts_in_order():
    asked = in_regime(CHAIN, TASKS, "cas_all", KNOWN)
    for place, one in enumerate(asked):
        facts = " ".join(stage.fact.format(f"{{answer {n}}}") for n, stage in enumerate(STAGES[:place], 1))
        assert words_of(one) == (f"{facts}\n" if facts else "") + f"Which word for {STAGE_NAMES[place]}?"
        assert one.needs == CHAIN[place].needs and one.tags == ({"regime": "cas_all"} if place else {})
        assert (one.id, one.answer, one.choices, one.image) == (
            CHAIN[place].id,
            CHAIN[place].answer,
            CHAIN[place].choices,
            CHAIN[place].image,
        )


def test_the_truth_is_filled_in_and_needs_nothing():
    asked = in_regime(CHAIN, TASKS, "oracle", KNOWN)
    assert not any(unfilled(r) or r.needs for r in asked)
    assert words_of(asked[2]) == "Image quality: alpha. Location: alpha.\nWhich word for LC?"


def test_what_is_planted_is_wrong_named_in_a_tag_and_the_same_every_time():
    asked = in_regime(CHAIN, TASKS, "planted", KNOWN)
    for one in asked[1:]:
        assert one.tags["planted"] in WORDS[1:] and one.tags["planted"] in words_of(one).partition("\n")[0]
        assert "alpha" not in words_of(one)
    assert asked == in_regime(CHAIN, TASKS, "planted", KNOWN)
    assert len({r.tags["planted"] for n in range(20) for r in _planted(n)}) == 2


class Told(Words):
    """Its answers are the replies."""

    def parse(self, reply, record):
        return reply.reply


def test_options_that_the_planted_answer_implies_are_named_in_a_tag():
    steps = {
        "DD": ("full-thickness hole", ("full-thickness hole", "impending hole only")),
        "SG": ("Gass stage 3", ("Gass stage 1", "Gass stage 3")),
        "CD": ("treat the disease actively", CLASSES),
    }
    known, needs = {}, ()
    for step, (truth, choices) in steps.items():
        fields = {"task": "told", "choices": choices, "answer": truth, "needs": needs, "chain_step": step}
        made = record(f"told/phantom/1/{step}", **fields)
        known[made.id], needs = made, (*needs, made.id)
    diagnosis, severity, decision = in_regime(list(known.values()), {"told": Told()}, "planted", known)
    assert "implied" not in diagnosis.tags
    assert (severity.tags["planted"], severity.tags["implied"]) == ("impending hole only", "Gass stage 1")
    assert (decision.tags["planted"], decision.tags["implied"]) == ("Gass stage 1", "review at a short interval")


def _planted(number):
    chain = chain_of(number, ("IQA", "AL"))
    return in_regime(chain, TASKS, "planted", {r.id: r for r in chain})[1:]


def _asking(text):
    return record("words/phantom/1/LC", text, task="words", choices=WORDS, answer="alpha", needs=(CHAIN[0].id,))


@pytest.mark.parametrize("regime", ["cas_last", "cas_all"])
def test_words_with_placeholders_of_their_own_keep_them(regime):
    asked = _asking("Quality: {answer 1}. Which word?")
    (found,) = in_regime([asked], TASKS, regime, KNOWN)
    assert found.messages == asked.messages and found.needs == asked.needs
    assert texts("oracle", [asked]) == ["Quality: alpha. Which word?"]


def test_they_are_refused_alone_with_two_cures_and_what_only_looks_like_them_is_not():
    with pytest.raises(BadArgument, match=r"(?s)data\.regime='independent'.*1 do, e\.g\. words/phantom/1/LC.*cas_all"):
        in_regime([_asking("{answer 1}?")], TASKS, "independent", KNOWN)
    looks = record("glaucoma/p/1", "What is {answer 1}?")
    assert in_regime([looks], TASKS, "independent", {}) == [looks]


@tabled("regime", ["cas_last", "cas_all", "oracle", "planted"])
def test_a_need_that_is_not_there_is_named(regime):
    with pytest.raises(BadArgument, match=r"data\.regime=.*whole chains; words/phantom/1/IQA is not"):
        in_regime(CHAIN, TASKS, regime, {r.id: r for r in CHAIN[1:]})


def test_a_truth_that_no_task_reads_is_named():
    with pytest.raises(BadArgument, match=r"data\.tasks=\[\].*the task of words/phantom/1/IQA"):
        in_regime(CHAIN, {}, "oracle", KNOWN)
    odd = chain_of(1, ("IQA", "AL"), answer="omega")
    with pytest.raises(BadArgument, match=r"answer of words/phantom/1/IQA='omega'"):
        in_regime(odd, TASKS, "oracle", {r.id: r for r in odd})


def test_conversations_to_replay_are_held_to_it(tmp_path):
    fields = {"task": "conversation", "choices": (), "split": "train"}
    talk = record("conversation/p/1", "{answer 1}", needs=("conversation/p/0",), **fields)
    with pytest.raises(BadArgument, match=r"data\.regime='independent'.*conversation/p/1"):
        read_conversations(write_curated(tmp_path, [record("conversation/p/0", **fields), talk]))
