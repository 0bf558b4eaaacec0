"""`--model.constrain choices` of an endpoint, against a server that obeys, refuses or ignores the request."""

import json

import pytest

from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.errors import BadArgument, LmodError, RunConflict
from lmod_train.models.backends.endpoint.constraint import FORMS, obeys
from lmod_train.models.backends.openai import OpenAI
from lmod_train.models.modules.frozen import Frozen
from tests.models.backends.endpoint.server import allowed, serving
from tests.models.backends.test_openai import NOBODY, WORDS, world

__all__ = ["world"]  # a fixture
CONSTRAIN = ["--model.constrain", "choices"]
REPLIES = ["Stage: 1", 'a "b" 青光眼', "18–29"]


def settings(world):
    return [json.loads(reply.settings or "{}") for reply in world.replies().values()]


@pytest.mark.parametrize(
    ("obeyed", "strict", "form"),
    [
        (list(FORMS), False, "structured_outputs"),
        (["response_format"], False, "response_format"),
        (["response_format"], True, "response_format"),
    ],
    ids=["vLLM", "one that ignores vLLM's field", "one that refuses vLLM's field"],
)
def test_every_reply_is_a_choice_and_the_run_says_by_which_field(world, obeyed, strict, form):
    fates = {"right": 3.0, "wrong": 2.0, "vague": 2.0, "filtered": 1.0}
    plan = world.plan(fates=fates, obeyed=obeyed, strict=strict)
    with serving(plan) as server:
        world.test(server.url, *CONSTRAIN)
        bodies = server.stats()["bodies"]
    withheld = sum(plan.fate(i) == "filtered" for i in range(120))
    assert world.account() == {"answered": 120 - withheld, "refused": withheld}
    assert world.score("accuracy_answered") == pytest.approx(
        sum(plan.fate(i) == "right" for i in range(120)) / (120 - withheld), abs=1e-6
    )
    assert {(s["constrain"], s["constrained_by"]) for s in settings(world)} == {("choices", form)}
    assert {allowed(body)[0] for body in bodies} == {form}, "those of the last 50 requests"


def test_a_free_run_sends_no_such_field_and_is_another_run(world):
    with serving(world.plan(obeyed=list(FORMS))) as server:
        world.test(server.url)
        assert not any(set(FORMS) & set(body) for body in server.stats()["bodies"])
        assert not any("constrain" in one for one in settings(world))
        asked = {r.asked for r in world.replies().values()}
        with pytest.raises(RunConflict, match="constrain"):
            world.test(server.url, *CONSTRAIN)
        world.run = world.run.with_name("constrained")
        world.test(server.url, *CONSTRAIN)
        assert len(world.replies()) == 120 and not {r.asked for r in world.replies().values()} & asked


@pytest.mark.parametrize("strict", [False, True])
def test_a_server_that_ignores_the_request_is_found_before_any_record_is_sent(world, strict):
    with serving(world.plan(strict=strict)) as server:
        with pytest.raises(LmodError) as raised:
            world.test(server.url, *CONSTRAIN)
        assert set(server.stats()["asked"]) == {-1}, "the test questions alone"
    said = str(raised.value)
    came = "HTTP 400: Unknown parameter" if strict else "OK; Explanation"
    for part in (server.url, "served-7b", "one of 'YES', 'NO'", *FORMS, came, "--model.constrain null"):
        assert part in said
    assert world.replies() == {}


def test_a_server_or_replica_that_stops_to_obey_ends_the_run(world, capsys):
    with serving(world.plan(obeyed=list(FORMS), obedient_until=30)) as server:
        assert world.test(server.url, *CONSTRAIN, "--model.backend.pace.concurrency", "1") == INCOMPLETE
    read = read_predictions(world.run / "predictions.parquet")
    assert all(p.answer in WORDS for p in read if p.status != "failed")
    (lost,) = (p.reply.error for p in read if p.status == "failed")
    for part in ("'GLAUCOMA', 'NON-GLAUCOMA'", "structured_outputs", "Explanation: the cup", "--model.constrain null"):
        assert part in lost
    assert "stopped asking" in capsys.readouterr().out
    assert not any(reply.constrained for reply in world.replies().values() if reply.error)


def test_a_field_of_the_users_own_is_refused(world):
    for form in FORMS:
        with pytest.raises(BadArgument, match=f"{form}.*\n.*`--model.constrain null`"):
            Frozen(OpenAI(NOBODY, "m", extra={form: {}}), constrain="choices")


@pytest.mark.parametrize("form", FORMS)
def test_only_an_allowed_reply_obeys(form):
    def said(text):
        return text if form == "structured_outputs" else json.dumps({"answer": text})

    assert all(obeys(said(text), REPLIES, form) for text in REPLIES)
    assert all(obeys(f"<think>It is 1.</think> {said(text)}", REPLIES, form) for text in REPLIES)
    others = [said("Stage: 2"), "", "{", "[]", '{"answer": ["Stage: 1"]}', '{"answer": 1}', f"{said(REPLIES[0])} or so"]
    assert not any(obeys(text, REPLIES, form) for text in others)
    assert form == "structured_outputs" or not obeys('{"answer": "18–29", "note": ""}', REPLIES, form)


def test_a_backend_that_cannot_constrain_says_so():
    from lmod_train.models.backends.scripted import Scripted

    with pytest.raises(LmodError, match=r"Scripted.*\n.*`--model.constrain null`"):
        Frozen(Scripted(text="x"), constrain="choices")
    assert Frozen(Scripted(text="x")).identity() == Scripted(text="x").identity()
