import math
from dataclasses import replace

import pytest

from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.extensions.packs.packing import model_name, packed, packed_answer, public, unpacked
from lmod_train.extensions.packs.withheld import Keys
from tests.report.packs import question
from tests.tabled import stored

MANIFEST = {"sources": {"open": {"redistributable": True}}}


def both_ways(reply, source="closed", **facts):
    asked = question(source, 4)
    own = replace(asked, **facts)
    made = packed(Prediction(own, reply, Unparsed("no_match")), asked, Keys([asked], MANIFEST))
    return made, unpacked(made, asked)


def test_a_reply_comes_back_with_its_likelihoods():
    asked = question("closed", 4)
    text = f"Q: {asked.messages[0].parts[1].text} \ud800 GLAUCOMA"
    reply = Reply(asked.id, text, "length", step=7, likelihoods={"NON-GLAUCOMA": -0.5, "GLAUCOMA": -math.inf})
    made, (record, back) = both_ways(reply)
    assert record == asked and back == reply
    assert "gentleman" not in str(made) and "GLAUCOMA" not in str(made.likelihoods)


def test_a_question_asked_otherwise_has_its_way_beside_its_id():
    asked = question("open", 4)
    own = {"id": f"{asked.id}/wording-2", "tags": {"wording": "2"}}
    made, (record, reply) = both_ways(Reply(own["id"], "yes"), source="open", **own)
    assert (made.id, made.way) == (asked.id, {"wording": "2"})
    assert (record.id, record.tags, reply.id) == (own["id"], {"wording": "2"}, own["id"])


def test_likelihoods_of_words_that_are_no_choice_are_left_out():
    made, _ = both_ways(Reply("x", "", likelihoods={"the reference answer": -1.0, "GLAUCOMA": math.nan}))
    assert made.likelihoods == {}


@pytest.mark.parametrize("place", ["2", "-1", "x", "01", "1e99"])
def test_a_place_beyond_the_choices_is_refused(place):
    made, _ = both_ways(Reply("x", "yes"))
    with pytest.raises(ValueError, match="likelihood of choice"):
        unpacked(replace(made, likelihoods={place: -1.0}), question("closed", 4))


def test_free_words_and_reasons_in_words_are_not_in_an_answer():
    assert packed_answer("a long sentence", ("A", "B")) == '{"text": true}'
    assert packed_answer(Unparsed("failed", "/srv/ada/x"), ()) == '{"unparsed": "failed"}'


@pytest.mark.parametrize(
    "text",
    stored(__file__, "packing.endpoints_that_are_not_public_have_no_name"),
)
def test_endpoints_that_are_not_public_have_no_name(text):
    assert public(f"at {text}") == "at private endpoint"


def test_names_of_hubs_stay():
    assert [public(t) for t in ("org/model-7b", "gpt-4o")] == ["org/model-7b", "gpt-4o"]
    assert model_name("/srv/ada/models/tuned") == "tuned"
