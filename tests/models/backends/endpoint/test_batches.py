"""Batches of a service: left there, collected later, each request answered once whatever ends a command."""

import json
import shutil
from collections import Counter

import pytest

from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.replies import ReplyFile, has_failed
from lmod_train.core.errors import ArtifactError, BadArgument, LmodError
from lmod_train.models.backends.endpoint import batch_asking
from lmod_train.models.backends.endpoint.batch_ledger import Ledger
from lmod_train.models.backends.endpoint.batch_services import (
    SERVICES,
    Batches,
    Refused,
    as_completion,
    as_messages,
    checked_id,
)
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, completion_of
from lmod_train.models.backends.openai import OpenAI
from tests.models.backends.endpoint.batch_server import BatchServer, serving_batches
from tests.models.backends.test_openai import SECRET, world  # noqa: F401

N = 120
BOTH = ["openai", pytest.param("anthropic", marks=pytest.mark.slow)]
FATES = {"right": 4.0, "wrong": 2.0, "cut": 1.0, "vague": 1.0}


class Killed(BaseException):
    """A kill at one place."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(batch_asking, "SETTLING", 0.0)
    monkeypatch.setattr(batch_asking, "LOOKING", 0.0)


def options(interface="openai", **more):
    """Return the options of a command that asks in batches of 50."""
    own = {"interface": interface, "requests": 50, **more}
    return [word for k, v in own.items() for word in (f"--model.backend.batches.{k}", str(v))]


def killed_at(monkeypatch, place, name, after=True, calls=1):
    """Kill the process at the n-th call of a function, after or before it has done its work."""
    real, made = getattr(place, name), []

    def once(*args, **kwargs):
        made.append(1)
        if len(made) == calls and not after:
            raise Killed
        found = real(*args, **kwargs)
        if len(made) == calls:
            raise Killed
        return found

    monkeypatch.setattr(place, name, once)


@pytest.mark.parametrize("interface", BOTH)
def test_a_run_is_left_collected_and_accounted_for(world, capsys, interface):  # noqa: F811
    plan = world.plan(fates=FATES)
    with serving_batches(BatchServer(plan, looks=1, expired={3, 70})) as server:
        assert world.test(server.url, *options(interface)) == INCOMPLETE
        assert [len(b.requests) for b in server.batches.values()] == [50, 50, 20] and world.replies() == {}
        assert "120 requests are at the service in 3 batches" in capsys.readouterr().out
        assert world.test(server.url, *options(interface)) == INCOMPLETE and world.replies() == {}, "they are not done"
        assert world.test(server.url, *options(interface)) == INCOMPLETE
        failed = {id for id, reply in world.replies().items() if has_failed(reply)}
        assert failed == {world.records[3].id, world.records[70].id} and len(server.batches) == 3
        for _ in range(3):
            status = world.test(server.url, *options(interface))
        assert status == 0 and len(server.batches) == 4
    assert world.account() == plan.truth() and server.paid == dict.fromkeys(range(N), 1)
    asked = {r.finish_reason for r in world.replies().values()}
    assert asked == {"stop", "length"} and {r.tokens_in for r in world.replies().values()} == {100}
    assert {json.loads(r.settings)["batch"] for r in world.replies().values()} == {interface}


@pytest.mark.parametrize("interface", BOTH)
def test_after_kills_everywhere_and_a_move_each_request_was_answered_once(world, monkeypatch, tmp_path, interface):  # noqa: F811
    places = [
        (Ledger, "begin", True, 1),  # the first batch is written down and not sent
        (SERVICES[interface], "submit", True, 2),  # the second is sent, and its id is lost
        (Ledger, "sent", False, 1),
        (Ledger, "end", False, 1),  # the results are read and not written
        (ReplyFile, "append", True, 7),  # some replies are written
        (ReplyFile, "append", False, 9),
    ]
    with serving_batches(BatchServer(world.plan(), looks=1)) as server:
        for kill in places:
            with monkeypatch.context() as patched:
                if kill[1] == "submit":
                    lose_the_id(patched, SERVICES[interface], kill[3])
                else:
                    killed_at(patched, *kill)
                with pytest.raises(Killed):
                    world.test(server.url, *options(interface, wait=1))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        shutil.copytree(world.run, elsewhere / "run")
        before = (world.run / "batches").stat().st_mtime_ns
        world.run = elsewhere / "run"
        for _ in range(4):
            status = world.test(server.url, *options(interface))
    assert status == 0 and world.account() == {"answered": N}
    assert server.paid == dict.fromkeys(range(N), 1)
    lines = [json.loads(line)["id"] for f in world.run.glob("replies/*.jsonl") for line in f.open()]
    assert Counter(lines).most_common(1)[0][1] == 1, "no reply is written twice"
    assert (tmp_path / "run" / "batches").stat().st_mtime_ns == before


def lose_the_id(patched, service, calls):
    """Kill the process when the n-th batch is created, before its id is known."""
    real, made = service.submit, []

    async def submit(self, lines, mark):
        found = await real(self, lines, mark)
        made.append(found)
        if len(made) == calls:
            raise Killed
        return found

    patched.setattr(service, "submit", submit)


@pytest.mark.parametrize("interface", BOTH)
def test_a_batch_whose_creation_got_no_response_is_found_and_not_sent_again(world, interface):  # noqa: F811
    with serving_batches(BatchServer(world.plan(), looks=0, lost=1)) as server:
        assert world.test(server.url, *options(interface)) == INCOMPLETE
        assert len(server.batches) == 1
        assert [world.test(server.url, *options(interface, wait=1)) for _ in range(2)][-1] == 0
    assert server.paid == dict.fromkeys(range(N), 1) and len(server.batches) == 3


@pytest.mark.slow
def test_a_refused_batch_stops_the_command_and_is_sent_by_the_next(world, capsys):  # noqa: F811
    with serving_batches(BatchServer(world.plan(), refused=400)) as server:
        assert world.test(server.url, *options()) == INCOMPLETE
        assert "stopped asking: HTTP 400: no" in capsys.readouterr().out and not server.batches
        server.refused = 0
        assert world.test(server.url, *options(wait=1)) == 0
    assert world.account() == {"answered": N} and server.paid == dict.fromkeys(range(N), 1)


@pytest.mark.slow
def test_a_budget_of_requests_is_kept_and_other_words_are_asked_anew(world):  # noqa: F811
    with serving_batches(BatchServer(world.plan(), looks=0)) as server:
        limited = ["--model.backend.budget.requests", "60"]
        assert world.test(server.url, *options(wait=1), *limited) == INCOMPLETE
        assert world.account() == {"answered": 60, "not asked": 60}
        assert world.test(server.url, *options(wait=1)) == 0
        assert world.test(server.url, *options(wait=1), "--data.asking.system_prompts", "{expert: Be brief.}") == 0
    assert sum(server.paid.values()) == 2 * N


def test_the_sample_of_an_estimate_is_asked_singly_and_the_batches_ask_the_others(world, capsys):  # noqa: F811
    prices = ["--model.backend.budget.price_in", "100", "--model.backend.budget.price_out", "1000"]
    with serving_batches(BatchServer(world.plan(), looks=0)) as server:
        assert world.test(server.url, *options(), *prices, "--estimate") == 0
        half = (N - 20) * (100 * 100 + 10 * 1000) / 1e6 / 2
        assert f"costs of {half:.4g} ({half:.4g} to {half:.4g})" in capsys.readouterr().out and not server.batches
        with pytest.raises(LmodError, match="may cost"):
            world.test(server.url, *options(), *prices, "--max_cost", "1.3")
        assert world.test(server.url, *options(wait=1), *prices, "--max_cost", "1.41") == 0
    assert {n: c for n, c in server.paid.items() if n >= 0} == dict.fromkeys(range(N), 1)


def test_what_leaves_passes_the_same_gate_and_the_key_is_nowhere(world, monkeypatch, capfd):  # noqa: F811
    closed = OpenAI("https://api.example.com/v1", "m", batches=Batches("openai"))
    with pytest.raises(LmodError, match="licence does not permit"):
        closed.collate(world.records[:1], world.curated)
    plain = OpenAI("http://10.1.2.3/v1", "m", batches=Batches("anthropic"), key_variable="LAB_KEY")
    plain.stored_in(world.run, "rank-0.jsonl")
    monkeypatch.setenv("LAB_KEY", SECRET)
    with pytest.raises(BadArgument, match="a key is sent to another machine"):
        list(plain.respond_stream(iter([plain.collate(world.records[:1], world.curated)])))
    for interface, header in (("openai", "authorization"), ("anthropic", "x-api-key")):
        shutil.rmtree(world.run, ignore_errors=True)
        with serving_batches(BatchServer(world.plan(), looks=0)) as server:
            assert world.test(server.url, *options(interface, wait=1), "--model.backend.key_variable", "LAB_KEY") == 0
            assert SECRET in server.headers[header]
    texts = [f.read_bytes() for f in world.run.rglob("*") if f.is_file()] + [capfd.readouterr().out.encode()]
    assert len(texts) > 5 and not [t for t in texts if SECRET[:20].encode() in t]


def test_costs_are_half_and_printed(world, capsys):  # noqa: F811
    with serving_batches(BatchServer(world.plan(), looks=0)) as server:
        prices = ["--model.backend.budget.price_in", "100", "--model.backend.budget.price_out", "1000"]
        world.test(server.url, *options(wait=1), *prices)
    half = N * (100 * 100 + 10 * 1000) / 1e6 / 2
    assert f"costs of {half:.4g}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong", [{"likelihoods": "sum"}, {"replicas": ["http://127.0.0.1:9/v1"]}]
)  # fmt: skip
def test_what_batches_cannot_do_is_refused(wrong, world):  # noqa: F811
    with pytest.raises(BadArgument, match="requests are sent in batches"):
        OpenAI("http://127.0.0.1:9/v1", "m", batches=Batches("openai"), **wrong)
    backend = OpenAI("http://127.0.0.1:9/v1", "m", batches=Batches("openai"))
    with pytest.raises(BadArgument, match="constrain"):
        backend.constrain()
    with pytest.raises(LmodError, match="expected a run folder"):
        list(backend.respond_stream(iter([backend.collate(world.records[:1], world.curated)])))
    with pytest.raises(BadArgument, match=r"batches\.requests"):
        Batches(requests=0)


def test_messages_become_those_of_anthropic_and_back():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    turn = {"role": "user", "content": [image, {"type": "text", "text": "Which?"}]}
    body = {"model": "m", "max_tokens": 7, "temperature": 0.0,
            "messages": [{"role": "system", "content": "Be brief."}, turn]}  # fmt: skip
    found = as_messages(body)
    assert found.pop("messages") == [
        {"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "text", "text": "Which?"}]}]  # fmt: skip
    assert found == {"model": "m", "max_tokens": 7, "temperature": 0.0, "system": "Be brief."}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 3, "output_tokens": 4}
    blocks = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Y"}, {"type": "text", "text": "ES"}]
    read = completion_of(as_completion({"content": blocks, "stop_reason": "end_turn", "usage": usage, "model": "m-1"}))
    assert isinstance(read, Completion) and read.text == "<think>Hm</think>YES" and read.model == "m-1"
    assert (read.usage.tokens_in, read.usage.tokens_out) == (98, 4)
    ends = {
        stop: completion_of(as_completion({"content": [], "stop_reason": stop})) for stop in ("max_tokens", "refusal")
    }
    assert [ends[stop].ending for stop in ends] == ["length", "refusal"]


@pytest.mark.parametrize("interface", SERVICES)
@pytest.mark.parametrize(
    "line", [{}, {"custom_id": 3, "result": [], "response": []}, {"response": {"status_code": "x", "body": None}},
             {"result": {"type": "succeeded", "message": None}}, {"result": {"type": "errored", "error": {"error": 7}}},
             {"response": {"status_code": 200, "body": {"choices": []}}}]
)  # fmt: skip
def test_results_of_any_structure_are_failures(interface, line):
    id, outcome = SERVICES[interface](None, None).outcome(line)
    assert isinstance(id, str) and isinstance(outcome, Trouble)


@pytest.mark.parametrize("id", ["", "../files", "a/b", 7, None, "a" * 200, "a?b"])
def test_an_id_that_is_no_part_of_a_path_is_refused(id):
    with pytest.raises(Refused):
        checked_id({"id": id})


def test_a_ledger_is_read_again_and_an_incomplete_line_is_as_if_never_written(tmp_path):
    folder = tmp_path / "batches"
    folder.mkdir()
    (folder / "rank-0.jsonl").touch()
    ledger, (one, two) = Ledger(folder, "rank-0.jsonl"), ("a" * 32, "b" * 32)
    ledger.begin(one, ["x", "y"])
    ledger.sent(one, ["batch_1"])
    ledger.begin(two, ["z"])
    ledger.end(one, "completed", [{"custom_id": "x"}])
    with (folder / "rank-0.jsonl").open("a") as file:
        file.write('{"mark": "' + two + '", "batches": ["ba')
    again = Ledger(folder, "rank-0.jsonl")
    assert [left.mark for left in again.open] == [two] and again.left[two].batches == ()
    assert again.left[one].ended == "completed" and list(again.results(one)) == [{"custom_id": "x"}]
    again.sent(two, ["batch_2"])
    assert Ledger(folder, "rank-0.jsonl").left[two].batches == ("batch_2",)
    (folder / "rank-1.jsonl").write_text('{"mark": "../../x", "ids": [], "since": 0}\n')
    with pytest.raises(ArtifactError, match="line 1 is not of a batch"):
        Ledger(folder, "rank-0.jsonl")
