"""Likelihoods of the choices through the one evaluation path, against a server with known numbers."""

import json

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.models.backends.openai import OpenAI
from tests.models.backends.endpoint.server import logprob, serving
from tests.models.backends.test_openai import QUICK, WORDS, World, records
from tests.tiny import hashed, write_curated

TOP = {"GLAUCOMA": -0.5, "NON": -1.25, "GL": -7.0, "The": -3.0}
KIND = "--model.backend.likelihoods"


@pytest.fixture
def world(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "curated").mkdir()
    folder = write_curated(tmp_path / "curated", records(24))
    return World([hashed(folder, r) for r in records(24)], folder, tmp_path / "run")


def truth(choice, kind):
    """Sum or mean of the numbers of the server's own formula, over the choice's characters and its end."""
    tokens = [*choice, "</s>"]
    total = sum(logprob(token, before) for token, before in zip(tokens, [" ", *tokens], strict=False))
    return total / (len(tokens) if kind == "mean" else 1)


@pytest.mark.parametrize("kind", ["sum", pytest.param("mean", marks=pytest.mark.slow)])  # see `test_likelihood`
def test_prompts_give_the_exact_numbers_through_faults_and_are_scored(world, caplog, kind):
    options = [*QUICK, "--model.backend.pace.attempts", "20", KIND, kind]
    with_faults = world.plan(prompts="whole", fault=0.2, faults={"500": 1.0, "429": 1.0})  # twice garbage ends a record
    with serving(with_faults) as server:
        world.test(server.url, *options)
        assert set(server.stats()["sent"].values()) - {server.stats()["sent"][-1]} == {1}
        before = sum(server.stats()["rated"].values())
        world.test(server.url, *options)
        assert sum(server.stats()["rated"].values()) == before, "a second run sends nothing"
    assert f"; likelihoods: {kind} of prompt_logprobs, a request per choice" in caplog.text
    for reply in world.replies().values():
        assert reply.likelihoods == pytest.approx({c: truth(c, kind) for c in WORDS}, abs=1e-6)
        assert json.loads(reply.settings)["likelihoods_by"] == "prompt_logprobs"
    likeliest = max(WORDS, key=lambda c: truth(c, kind))
    right = [r.answer == likeliest for r in world.records]
    assert world.score("accuracy_likeliest") == pytest.approx(sum(right) / 24)
    assert world.score("likelihoods_given") == 1.0
    predictions = read_predictions(world.run / "predictions.parquet")
    assert {tuple(sorted(p.reply.likelihoods)) for p in predictions} == {tuple(sorted(WORDS))}


def test_top_logprobs_give_those_of_the_first_token_that_differs(world, caplog):
    with serving(world.plan(top=TOP, fates={"right": 3.0, "vague": 1.0, "refusing": 1.0})) as server:
        world.test(server.url, KIND, "sum")
        assert max(c for n, c in server.stats()["asked"].items() if n >= 0) == 1 and not server.stats()["rated"]
        assert server.stats()["bodies"][-1]["top_logprobs"] == 4
    assert "likelihoods: by the top 4 logprobs of the first token in which the choices differ" in caplog.text
    assert {tuple(r.likelihoods.items()) for r in world.replies().values()} == {
        (("GLAUCOMA", -0.5), ("NON-GLAUCOMA", -1.25))
    }


ABSENT = [
    ({}, "sum", "the server returns no prompt_logprobs; the server returns no top logprobs"),
    ({"logprobs": True}, "sum", "the server returns no top logprobs"),
    ({"top": {"GLAUCOMA": -0.5, "No": -1.0}}, "mean", "by top logprobs there is only the sum"),
    ({"prompts": "open"}, "sum", "replies have no end token"),
    ({"prompts": "merged"}, "sum", "tokens of prompt and reply merge"),
]


@pytest.mark.parametrize(("plan", "kind", "why"), ABSENT)
def test_a_backend_has_no_likelihoods_where_a_server_returns_none_and_says_why(world, caplog, plan, kind, why):
    with serving(world.plan(**plan)) as server:
        backend = OpenAI(server.url, "served-7b", likelihoods=kind)
        replies = backend.respond(backend.collate(world.records[:3], world.curated))
        assert not {n for n in server.stats()["rated"] if n >= 0}
    assert "likelihoods: none (" in (printed := caplog.text) and why in printed
    assert len(replies) == 3 and not any(reply.error or reply.likelihoods for reply in replies)


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "kind", "why"), ABSENT)
def test_what_a_server_does_not_return_is_absent_and_stated(world, caplog, plan, kind, why):
    with serving(world.plan(**plan)) as server:
        world.test(server.url, KIND, kind)
        assert not {n for n in server.stats()["rated"] if n >= 0}
    assert "likelihoods: none (" in (printed := caplog.text) and why in printed
    assert world.account() == {"answered": 24} and not any(r.likelihoods for r in world.replies().values())


def test_a_choice_outside_the_top_leaves_the_record_without(world):
    with serving(world.plan(top={"GLAUCOMA": -0.5, "The": -1.0})) as server:
        world.test(server.url, KIND, "sum")
    assert not any(r.likelihoods for r in world.replies().values()) and world.account() == {"answered": 24}


def test_a_record_whose_likelihoods_fail_for_a_time_is_asked_again(world):
    with serving(world.plan(prompts="whole")) as server:
        world.test(server.url, KIND, "sum", "--model.backend.budget.requests", "30")
        assert world.account()["failed"] >= 16 and sum(server.stats()["asked"].values()) <= 30
        world.test(server.url, KIND, "sum")
    assert world.account() == {"answered": 24}
    assert all(len(r.likelihoods) == 2 for r in world.replies().values())
