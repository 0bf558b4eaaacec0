"""An endpoint through the one evaluation path, against a server that fails in every known way."""

import json
import logging
import pickle
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

import pytest

from lmod_train.cli import experiment
from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.replies import has_failed, read_replies
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, LmodError, RunConflict
from lmod_train.core.shipped import configs_folder
from lmod_train.models.backends.endpoint.pace import Pace
from lmod_train.models.backends.openai import OpenAI
from lmod_train.models.chat.checkpoint import find
from tests.models.backends.endpoint.server import FAULTS, STATUS, Plan, serving
from tests.opened_script import opened
from tests.tiny import hashed, record, write_curated

CONFIGS = configs_folder()
WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
FATES = dict.fromkeys(STATUS, 1.0) | {"right": 8.0, "wrong": 4.0}
QUICK = ["--model.backend.pace.timeout", "2.5", "--model.backend.pace.longest_wait", "0.2"]
NOBODY = "http://127.0.0.1:9/v1"
SECRET = "sk-test-0123456789abcdef0123456789"


def records(n, images=4):
    """Return records of which `images` ask about one image."""
    return [
        record(
            f"glaucoma/p/{i:04}",
            text=f"Does this eye have glaucoma? #{i}",
            image=[f"{i // images}.png"],
            answer=WORDS[i % 2],
            split="test",
        )
        for i in range(n)
    ]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A curated folder of 120 records, and what asks a server about them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "curated").mkdir()
    folder = write_curated(tmp_path / "curated", records(120))
    return World([hashed(folder, r) for r in records(120)], folder, tmp_path / "run")


class World:
    def __init__(self, records, curated, run):
        self.records, self.curated, self.run = records, curated, run

    def plan(self, **options):
        return Plan(answers=[r.answer for r in self.records], **options)

    def arguments(self, url, *options):
        parts = ["--model", str(CONFIGS / "model/openai.yaml"), "--trainer", str(CONFIGS / "trainer/cpu.yaml")]
        data = ["--data.curated", self.curated, "--data.tasks", f"[{CONFIGS / 'task/glaucoma.yaml'}]"]
        quiet = ["--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
        endpoint = ["--model.backend.base_url", url, "--model.backend.model", "served-7b"]
        return [str(a) for a in (*parts, *data, *quiet, *endpoint, "--run", self.run, *options)]

    def test(self, url, *options):
        """Run the command; return its exit status."""
        return experiment.run(["test", *self.arguments(url, *options)])

    def replies(self):
        return {id: reply for (id, _, _), reply in read_replies(self.run / "replies").items()}

    def account(self):
        """Return how many records have each status, and how many were not asked."""
        found = Counter(p.status for p in read_predictions(self.run / "predictions.parquet"))
        return dict(found + Counter({"not asked": len(self.records) - found.total()}))

    def score(self, metric):
        rows = [s for _, _, s in read_scores(self.run / "scores.csv") if s.subset == "all" and s.metric == metric]
        return rows[0].value


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_the_account_equals_the_truth_after_runs_that_are_continued(world, seed):
    plan = world.plan(fates=FATES, fault=0.3, seed=seed)
    failing = {r.id for i, r in enumerate(world.records) if plan.fate(i) == "rejected"}
    with serving(plan) as server:
        for _ in range(8):
            before = {id for id, reply in world.replies().items() if not has_failed(reply)}
            asked = server.stats()["asked"]
            status = world.test(server.url, *QUICK, "--model.backend.pace.attempts", "2")
            assert status == INCOMPLETE, "some are always refused"
            now = server.stats()["asked"]
            assert not {r.id for i, r in enumerate(world.records) if now[i] > asked[i]} & before, "asked twice"
            if {id for id, reply in world.replies().items() if has_failed(reply)} == failing:
                break
        stats = server.stats()
    assert world.account() == plan.truth()
    assert set(plan.truth()) == {"answered", "refused", "truncated", "unparsed", "failed"}
    fates = [plan.fate(i) for i in range(120)]
    replied = 120 - fates.count("rejected")
    assert world.score("accuracy_strict") == pytest.approx(fates.count("right") / replied, abs=1e-6)
    answered = fates.count("right") + fates.count("wrong")
    assert world.score("accuracy_answered") == pytest.approx(fates.count("right") / answered, abs=1e-6)
    assert set(stats["sent"].values()) - {stats["sent"][-1]} == {1}, "no reply was paid for twice"
    met = {plan.fault_of(i, k + 1) for i in range(120) for k in range(stats["asked"][i])}
    assert met >= set(FAULTS), "every fault has occurred"


def test_the_server_has_replied_at_most_to_as_many_unwritten_records_as_may_be_in_flight(world):
    file = world.run / "replies/rank-0.jsonl"
    with serving(world.plan(written=str(file))) as server:
        world.test(server.url, "--model.backend.pace.concurrency", "3", "--data.eval_batch_size", "8")
        stats = server.stats()
    assert world.account() == {"answered": 120} and stats["unwritten"] in (2, 3)


def test_the_place_of_a_reply_is_free_once_it_is_written(world):
    with serving(world.plan()) as server:
        backend = OpenAI(server.url, "served-7b", pace=Pace(concurrency=3))
        replies = backend.respond_stream(iter([backend.collate(world.records[:9], world.curated)]))
        for taken in range(1, 7):
            next(replies)  # and is being written
            until = time.monotonic() + 20
            while asked_of(server) < 2 + taken and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.05)
            assert asked_of(server) == 2 + taken
        replies.close()


@pytest.mark.parametrize("taken", [1, 3])
def test_a_stream_that_ends_sends_no_request_to_the_places_that_become_free(world, monkeypatch, taken):
    """As on SIGTERM: the requests that wait for a place are cancelled before any place is free."""
    real = OpenAI._written
    monkeypatch.setattr(OpenAI, "_written", lambda self, id: (real(self, id), time.sleep(0.01)))
    with serving(world.plan()) as server:
        backend = OpenAI(server.url, "served-7b", pace=Pace(concurrency=4))
        replies = backend.respond_stream(iter([backend.collate(world.records[:40], world.curated)]))
        for _ in range(taken):
            next(replies)
        time.sleep(0.2)  # all places are taken
        before = asked_of(server)
        replies.close()
        assert asked_of(server) == before == 4 + taken - 1


def asked_of(server):
    """Return how many requests about records a server has read."""
    return sum(count for n, count in server.stats()["asked"].items() if n >= 0)


def test_replies_carry_what_the_server_states(world):
    with serving(world.plan()) as server:
        world.test(server.url, "--data.limit", "1", "--model.backend.extra", "{seed: 3}")
        (body,) = server.stats()["bodies"][-1:]
    (reply,) = world.replies().values()
    assert (reply.model, reply.tokens_in, reply.tokens_out, reply.finish_reason) == ("served-7b-2026", 100, 10, "stop")
    assert reply.seconds > 0 and reply.error == ""
    settings = json.loads(reply.settings)
    assert settings["system_fingerprint"] == "fp_7" and settings["seed"] == 3 and settings["max_tokens"] == 512
    assert body == {"model": "served-7b", "max_tokens": 512, "temperature": 0.0, "seed": 3}
    assert "base64,<" in reply.rendered and "#0" in reply.rendered


def test_a_second_run_sends_nothing_and_needs_no_server(world):
    with serving(world.plan()) as server:
        world.test(server.url)
    lines = (world.run / "replies/rank-0.jsonl").read_bytes()
    world.test(server.url)  # it is gone
    assert (world.run / "replies/rank-0.jsonl").read_bytes() == lines


def test_a_wrong_address_is_corrected_in_the_same_run_folder(world):
    with pytest.raises(LmodError, match="No record was sent"):
        world.test("http://127.0.0.1:9/v1", "--model.backend.pace.attempts", "1")
    with serving(world.plan()) as server:
        assert world.test(server.url, "--data.limit", "4") == 0
    assert world.account() == {"answered": 4, "not asked": 116}


def test_pace_budget_and_replicas_may_change_when_a_run_is_continued(world):
    with serving(world.plan()) as server:
        budget = ["--model.backend.budget.requests", "20", "--model.backend.pace.concurrency", "2"]
        assert world.test(server.url, *budget) == INCOMPLETE
        assert sum(server.stats()["asked"].values()) == 20, "the probe included"
        assert world.account() == {"answered": 17, "not asked": 103} and len(world.replies()) == 17
        assert world.score("share_not_asked") == pytest.approx(103 / 120, abs=1e-6)
        assert world.test(server.url, "--model.backend.replicas", f"[{server.url}]") == 0
        assert world.account() == {"answered": 120}
        assert max(c for n, c in server.stats()["asked"].items() if n >= 0) == 1
        with pytest.raises(RunConflict, match="max_new_tokens"):
            world.test(server.url, "--model.backend.max_new_tokens", "7")


@pytest.mark.parametrize(
    "budget", [["--model.backend.budget.tokens", "3300"],
               ["--model.backend.budget.money", "0.0033", "--model.backend.budget.price_in", "1",
                "--model.backend.budget.price_out", "1"]]
)  # fmt: skip
def test_a_budget_of_tokens_or_money_is_kept(world, budget):
    with serving(world.plan(delay=0.005)) as server:
        world.test(server.url, *budget)
        spent = 110 * sum(server.stats()["sent"].values())
    assert 3300 - 110 < spent <= 3300
    assert world.account()["not asked"] == 120 - (spent // 110 - 3)


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_run_with_refused_records_is_finished_whatever_their_place(world, capsys, first):
    """The server refuses thirty records, at the beginning or at the end: more than `give_up_after`."""
    refused = range(30) if first else range(90, 120)
    with serving(world.plan(refused=list(refused))) as server:
        for _ in range(2):
            assert world.test(server.url, "--model.backend.pace.concurrency", "2") == INCOMPLETE
            before = server.stats()["asked"]
    assert {n: before[n] for n in range(120) if n not in refused} == dict.fromkeys(set(range(120)) - {*refused}, 1)
    assert world.account() == {"answered": 90, "failed": 30} and world.score("accuracy_strict") == 1.0
    printed = capsys.readouterr().out
    assert "90 of 120 records have a reply, 30 failed" in printed
    assert re.search(r"\| replied \| failed \| not asked \|\n.*\n.*\|\s+90 \|\s+30 \|\s+0 \|", printed)


def test_a_key_that_is_revoked_during_the_run_leaves_failed_and_not_asked_apart(world, capsys):
    with serving(world.plan(revoked_after=40)) as server:
        assert world.test(server.url, "--model.backend.pace.concurrency", "4") == INCOMPLETE
        asked = asked_of(server)
    found = world.account()
    assert found == {"answered": 37, "failed": asked - 37, "not asked": 120 - asked} and 1 <= found["failed"] <= 4
    assert f"{found['failed']} requests failed ({found['failed']} with 'HTTP 401: no')" in capsys.readouterr().out
    with serving(world.plan()) as server:
        port_only_changes = ["--model.backend.base_url", server.url]
        with pytest.raises(RunConflict, match="base_url"):
            world.test(server.url, *port_only_changes)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": 2**64 - 1, "completion_tokens": 1},
        pytest.param("many", marks=pytest.mark.slow),  # read as those above, see `test_outcome`
        pytest.param({}, marks=pytest.mark.slow),
    ],
)
def test_a_budget_that_cannot_be_metered_is_said_before_a_record_is_sent_and_the_cure_helps(world, usage):
    with serving(world.plan(usage=[usage])) as server:
        with pytest.raises(
            LmodError, match=r"the budget of tokens or money cannot be kept.*No record was sent"
        ) as caught:
            world.test(server.url, "--model.backend.budget.tokens", "99999")
        cure = re.search(r"Next: .*`(--model.*)`", str(caught.value))[1].split()
        assert world.test(server.url, "--data.limit", "9", "--model.backend.budget.tokens", "99999", *cure) == 0
    assert world.account() == {"answered": 9, "not asked": 111}


def test_a_server_that_stops_stating_its_tokens_stops_a_budget_of_tokens(world, capsys):
    stated = {"prompt_tokens": 100, "completion_tokens": 10}
    with serving(world.plan(usage=[stated] * 9 + [None])) as server:
        options = ["--model.backend.budget.tokens", "99999", "--model.backend.pace.concurrency", "1"]
        assert world.test(server.url, *options) == INCOMPLETE
    assert world.account() == {"answered": 7, "not asked": 113}
    assert "stopped asking: the budget of tokens or money cannot be kept" in capsys.readouterr().out


def test_prompts_that_a_filter_refuses_state_no_tokens_and_stop_no_budget(world):
    with serving(world.plan(fates={"right": 3.0, "forbidden": 1.0})) as server:
        assert world.test(server.url, "--model.backend.budget.tokens", "99999", "--data.limit", "20") == 0
    assert world.account()["refused"] > 1


def test_a_redirect_sends_nothing_to_another_address(world):
    with serving(world.plan()) as other, serving(world.plan(redirect=f"{other.url}/chat/completions")) as server:
        with pytest.raises(LmodError, match=r"HTTP 307.*No record was sent(?s:.*)base_url"):
            world.test(server.url, "--data.limit", "4")
        assert not other.stats()["asked"]


def test_predict_counts_what_has_no_reply_and_its_status_says_so(world, capsys):
    with serving(world.plan(refused=[3])) as server:
        command = ["predict", *world.arguments(server.url), "--data.split", "test"]
        assert experiment.run(command) == INCOMPLETE
    assert "119 of 120 records have a reply, 1 failed" in capsys.readouterr().out


def test_an_outage_ends_the_command_and_the_next_one_goes_on(world):
    with serving(world.plan(gone_after=40)) as server:
        port = server.port
        lost = ["--model.backend.pace.attempts", "2", "--model.backend.pace.give_up_after", "5"]
        assert world.test(server.url, *QUICK, *lost) == INCOMPLETE
    found = world.account()
    answered = found["answered"]
    assert 0 < answered <= 37 and found["failed"] >= 5 and sum(found.values()) == 120
    with serving(world.plan(), port) as server:
        world.test(server.url)
        assert asked_of(server) == 120 - answered
    assert world.account() == {"answered": 120}


@pytest.mark.parametrize("status", [403, 0])
def test_the_key_is_nowhere(world, monkeypatch, capfd, caplog, status):
    monkeypatch.setenv("LAB_KEY", SECRET)
    caplog.set_level("DEBUG")
    options = [*QUICK, "--model.backend.key_variable", "LAB_KEY", "--model.backend.pace.attempts", "1"]
    with serving(world.plan(status=status, echo=True)) as server:
        world.test(server.url, *options, "--model.backend.pace.give_up_after", "21")
        calls = server.stats()["asked"]
    printed = capfd.readouterr()
    if status:
        asked = sum(c for n, c in calls.items() if n >= 0)
        assert asked >= 20 and world.account() == {"failed": asked, "not asked": 120 - asked}
    texts = [f.read_bytes() for f in world.run.rglob("*") if f.is_file()]
    texts += [printed.out.encode(), printed.err.encode(), caplog.text.encode()]
    assert len(texts) > 5 and not [t for t in texts if SECRET.encode() in t or SECRET[:20].encode() in t]
    assert b"[key]" in b"".join(texts), "it was repeated by the server, and taken out"
    backend = OpenAI(server.url, "m", key_variable="LAB_KEY", pace=Pace(attempts=1))
    assert SECRET not in repr(backend) and SECRET.encode() not in pickle.dumps(backend)
    with pytest.raises(LmodError) as caught:  # the server is gone
        backend.respond(backend.collate(world.records[:1], world.curated))
    assert SECRET not in "".join(map(str, (caught.value, caught.value.__cause__, caught.getrepr(showlocals=True))))


def test_a_configuration_with_the_key_is_not_written(world, monkeypatch):
    monkeypatch.setenv("LAB_KEY", SECRET)
    for options in (["--model.backend.extra", f"{{api_key: {SECRET}}}"], ["--model.backend.key_variable", SECRET]):
        with pytest.raises(BadArgument, match="not shown") as caught:
            world.test(NOBODY, *options)
        assert SECRET not in str(caught.value)
    with pytest.raises(BadArgument, match=r"model\.backend\.base_url=.*not shown"):
        world.test(f"{NOBODY}/{SECRET}")
    assert not [f for f in world.run.rglob("*") if f.is_file() and SECRET.encode() in f.read_bytes()]


DEMANDED = {
    "reasoning": {},
    "classic": {"rules": "reasoning"},
    "no temperature": {},
    "short": {},
    "no effort": {"extra": {"reasoning_effort": "low"}},
}
"""What a server demands, and the options with which it is asked at first."""


@pytest.mark.parametrize("demand", DEMANDED)
def test_the_cure_in_the_error_helps(world, demand):
    options = DEMANDED[demand]
    with serving(world.plan(demand=demand)) as server:
        for _ in range(5):
            backend = OpenAI(server.url, "served-7b", **options)
            try:
                replies = backend.respond(backend.collate(world.records[:2], world.curated))
                break
            except LmodError as error:
                cure = str(error).partition("Next: ")[2]
                typed = re.search(r"add `--model\.backend\.(\S+) (\S+)`", cure)
                removed = "remove reasoning_effort from `--model.backend.extra`" in cure
                changed = {typed[1]: int(typed[2]) if typed[2].isdigit() else typed[2]} if typed else {"extra": {}}
                options = options | changed if typed or removed else pytest.fail(cure)
    assert len(replies) == 2 and not any(reply.error for reply in replies)


@pytest.mark.parametrize(
    ("demand", "given"),
    [
        ("classic", ["--model.backend.rules", "reasoning"]),
        *(pytest.param(demand, [], marks=pytest.mark.slow) for demand in ("reasoning", "no temperature", "short")),
        pytest.param("no effort", ["--model.backend.extra", "{reasoning_effort: low}"], marks=pytest.mark.slow),
    ],
)
def test_the_printed_cure_helps_as_typed(world, demand, given):
    with serving(world.plan(demand=demand)) as server:
        for _ in range(5):
            try:
                world.test(server.url, "--data.limit", "2", *given)
                break
            except LmodError as error:
                cure = str(error).partition("Next: ")[2]
                typed = re.search(r"add `(--model\.backend\.\S+ \S+)`", cure)
                removed = "remove reasoning_effort from `--model.backend.extra`" in cure
                given = given + typed[1].split() if typed else [] if removed else pytest.fail(cure)
    assert world.account() == {"answered": 2, "not asked": 118}


def test_replies_without_a_word_are_counted_with_a_cure(world, capsys):
    with serving(world.plan(fates={"hidden": 1.0, "thought": 1.0, "cut": 1.0})) as server:
        world.test(server.url, "--data.limit", "12")
    fates = [world.plan(fates={"hidden": 1.0, "thought": 1.0, "cut": 1.0}).fate(i) for i in range(12)]
    printed = capsys.readouterr().out
    assert f"{12 - fates.count('cut')} replies were cut off at max_new_tokens=512 before their first word" in printed
    assert "`--model.backend.max_new_tokens 4096`" in printed and "models:" not in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "https://api.example.com/v1"}, r"(?s)key_variable='OPENAI_API_KEY'.*export OPENAI_API_KEY"),
        ({"base_url": "http://127.0.0.1:9/v1"}, r"(?s)No record was sent.*start the server"),
    ],
)
def test_what_is_missing_is_named_before_a_record_is_asked(world, options, message):
    from lmod_train.models.backends.endpoint.pace import Pace

    backend = OpenAI(**options, model="m", pace=Pace(attempts=1), send_sources=["phantom"])
    with pytest.raises(LmodError, match=message):
        backend.respond(backend.collate(world.records[:1], world.curated))


def test_images_of_closed_sources_stay_here(world):
    backend = OpenAI("https://api.example.com/v1", "m")
    with pytest.raises(LmodError, match=r"phantom would be sent to http.*, outside your network"):
        backend.collate(world.records[:1], world.curated)


def test_no_records_need_no_server(world):
    backend = OpenAI("http://127.0.0.1:9/v1", "m")
    assert backend.respond(backend.collate([], world.curated)) == []


def test_an_endpoint_is_its_url_its_model_and_how_it_is_asked():
    from lmod_train.models.backends.endpoint.budget import Budget
    from lmod_train.models.backends.endpoint.image_urls import ImagePolicy
    from lmod_train.models.backends.endpoint.pace import Pace

    def who(url="http://localhost/v1", model="m", **options):
        return OpenAI(url, model, **options).identity()

    same = [{"pace": Pace(concurrency=1)}, {"budget": Budget(requests=1)}, {"replicas": ["http://other/v1"]}]
    same += [{"key_variable": "K"}, {"send_sources": ["brset"]}, {"url": "http://localhost/v1/"}]
    assert all(who(**options) == who() for options in same)
    other = [{"url": "http://localhost:1/v1"}, {"model": "n"}, {"max_new_tokens": 9}, {"temperature": 1.0}]
    other += [{"system_prompt": "s"}, {"extra": {"seed": 1}}, {"images": ImagePolicy(512)}, {"rules": "reasoning"}]
    assert all(who(**options) != who() for options in other)
    assert who().weights == ("http://localhost/v1 m",) and who().template == ""


def test_a_model_must_be_named():
    with pytest.raises(BadArgument, match=r"--model\.backend\.model"):
        OpenAI("http://localhost/v1", "")


def test_what_was_spent_is_printed_when_ctrl_c_ends_it(world, monkeypatch, caplog):
    def interrupted(self, id):
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenAI, "_written", interrupted)
    caplog.set_level("INFO")
    with serving(world.plan()) as server, pytest.raises(KeyboardInterrupt):
        world.test(server.url, "--model.backend.pace.concurrency", "2")
    assert re.search(r"[45] requests, [3-5]00 prompt tokens, [3-5]0 reply tokens", caplog.text)


def test_what_was_spent_is_printed_at_the_end(world, capsys):
    with serving(world.plan()) as server:
        world.test(server.url, "--model.backend.budget.requests", "20")
    printed = capsys.readouterr().out
    assert f"{server.url}: 20 requests, 2,000 prompt tokens, 200 reply tokens" in printed
    assert "stopped asking: the budget of 20 requests is spent" in printed


BENCHMARK = [sys.executable, str(CONFIGS.parent / "scripts/benchmarks/endpoint.py")]


def test_what_the_benchmarks_curate_may_be_sent(tmp_path):
    """Or each of their commands ends before its first request."""
    records = opened("endpoint", "scripts/benchmarks").curated(tmp_path, 8, images=4, side=16)
    assert len(OpenAI(NOBODY, "m").collate(records, tmp_path).records) == 8


@pytest.mark.slow
def test_ten_kills_lose_no_reply_and_repeat_only_what_was_in_flight():
    done = subprocess.run([*BENCHMARK, "kills", "--n", "10"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("10 kills: 800 of 800 replies held")


@pytest.mark.slow
def test_failing_calls_and_wrong_commands_show_the_key_nowhere():
    script = BENCHMARK[1].replace("endpoint.py", "endpoint_key.py")
    done = subprocess.run([sys.executable, script, "--n", "8"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "the key is in none of" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["throughput", "replicas"])
def test_the_benchmarks_run_small(measure):
    small = ["--n", "48", "--delay", "0.02", "--concurrency", "4"]
    done = subprocess.run([*BENCHMARK, measure, *small], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "requests/s" in done.stdout or "images on both: 0 of 4" in done.stdout


@pytest.mark.slow
def test_transformers_serve_gives_the_replies_of_the_same_checkpoint(curated, tmp_path, monkeypatch):
    """A real server, the small base in it: the same words as by the backend huggingface."""
    pytest.importorskip("uvicorn", reason="pip install -e .[serve]")
    monkeypatch.chdir(tmp_path)
    base = find("small_base")
    with transformers_serving(base, tmp_path / "log.txt") as url:
        tasks = ",".join(str(CONFIGS / f"task/{name}.yaml") for name in ("glaucoma", "four_way"))
        common = ["--trainer", str(CONFIGS / "trainer/cpu.yaml"), "--data.curated", str(curated), "--data.tasks"]
        common += [f"[{tasks}]", "--data.split", "all", "--data.limit", "9", "--trainer.logger", "false"]
        endpoint = ["--model.backend.base_url", url, "--model.backend.model", str(base)]
        length = ["--model.backend.max_new_tokens", "24"]
        ours = ["--model", str(CONFIGS / "model/small_base.yaml"), *length]
        experiment.run(["test", *ours, *common, "--run", "ours"])
        served = ["--model", str(CONFIGS / "model/openai.yaml"), *length, *endpoint]
        experiment.run(["test", *served, *common, "--run", "served"])
    found = [{i: r for (i, _, _), r in read_replies(tmp_path / run / "replies").items()} for run in ("ours", "served")]
    assert len(found[0]) == 18 and not [r.error for r in found[1].values() if r.error]
    differing = {i for i in found[0] if found[0][i].reply.strip() != found[1][i].reply.strip()}
    assert differing == set()


@contextmanager
def transformers_serving(folder, log):
    """Start `transformers serve` on a free port and wait until it takes requests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    options = ["--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--port", str(port)]
    with (
        log.open("w") as out,
        subprocess.Popen([program, "serve", str(folder), *options], stdout=out, stderr=out) as up,
    ):
        try:
            while up.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.2)
            assert up.poll() is None, log.read_text()[-2000:]
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            up.kill()


@pytest.mark.parametrize(
    ("url", "model", "day", "said"),
    [
        ("https://api.openai.com/v1", "gpt-5-2025-08-07", date(2026, 12, 10), "gpt-5-2025-08-07 ends on 2026-12-11"),
        ("https://api.openai.com/v1", "gpt-5", date(2027, 1, 1), "was to end on 2026-12-11"),
        ("https://api.openai.com/v1", "gpt-4o", date(2026, 11, 27), "ends on 2027-01-14"),
        ("https://api.openai.com/v1", "unheard-of", date(2026, 11, 27), ""),
        (NOBODY, "gpt-5", date(2026, 11, 27), ""),
    ],
)
def test_the_announced_end_of_a_service_is_noted_and_never_refused(url, model, day, said):
    note = OpenAI(url, model).ending(day)
    assert said in note and bool(note) == bool(said)
    assert not note or note.startswith("note: the service ")


def test_a_run_notes_the_end_before_its_first_request(monkeypatch, caplog, tmp_path):
    """The request is sent all the same, and its own error follows the note."""
    backend = OpenAI(NOBODY, "gpt-5", pace=Pace(attempts=1, timeout=2))
    monkeypatch.setattr(backend, "ending", lambda today: f"note: ended before {today}")
    batch = backend.collate([record(image=())], write_curated(tmp_path, [record(image=())]))
    with caplog.at_level(logging.INFO), pytest.raises(LmodError, match="the test question failed"):
        list(backend.respond_stream(iter([batch])))
    assert f"note: ended before {date.today()}" in caplog.messages
