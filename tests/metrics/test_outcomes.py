from dataclasses import replace

import pytest

from lmod_train.metrics.outcomes import decode, encode
from lmod_train.types import Box, Patient, Region, Unparsed
from tests.scoring.make import prediction

ANSWERS = ["视盘 \n\u2028 \x00", 2.0, {3: "optic disc", -1: "cup"}, {}, Unparsed("ambiguous", "yes and no")]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_a_prediction_comes_back_as_it_was(answer):
    regions = (Region("optic disc", Box(1, 2, 3, 4), 1), Region("optic cup", Box(1, 1, 2, 2), 2))
    made = prediction(
        "a/é", answer, reply="ja\n青", regions=regions, patient=Patient(age=61.5, sex="female"), image="i.jpg"
    )
    made = replace(made, reply=replace(made.reply, likelihoods={"yes": -0.25}, step=7))
    line = encode(made)
    assert decode(line) == made
    assert type(decode(line).answer) is type(answer)
    assert line.count(b"\n") == 1 and len(line.splitlines()) == 1


def test_what_the_model_was_sent_stays_in_the_reply_file():
    made = prediction("a", "yes")
    assert decode(encode(replace(made, reply=replace(made.reply, rendered="<image>" * 576)))) == made
