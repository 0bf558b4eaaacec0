from itertools import chain

from lmod_train.extensions.xpcr.stages import STAGE_NAMES, STAGES, stage_named


def test_names_and_aliases_are_unique_and_found_in_any_case():
    known = [*STAGE_NAMES, *chain.from_iterable(stage.aliases for stage in STAGES)]
    assert len(set(known)) == len(known)
    assert [stage_named(f" {name.lower()} ") for name in STAGE_NAMES] == list(STAGES)
    assert stage_named("") is None


def test_each_sentence_holds_the_answer_once():
    assert all(text.format("X").count("X") == 1 for stage in STAGES for text in (stage.fact, stage.asks_last))
