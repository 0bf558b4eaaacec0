"""Requests in flight, against a local server."""

import asyncio
import json
import random
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError
from lmod_train.models.backends.endpoint.address import route_to
from lmod_train.models.backends.endpoint.background import Background
from lmod_train.models.backends.endpoint.budget import Budget, Spending
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.features import probe
from lmod_train.models.backends.endpoint.fleet import Fleet, Replica
from lmod_train.models.backends.endpoint.image_urls import ImagePolicy
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.likelihood import Method
from lmod_train.models.backends.endpoint.outcome import Completion, Trouble, Usage
from lmod_train.models.backends.endpoint.pace import Pace
from lmod_train.models.backends.endpoint.request import Decoding
from lmod_train.models.backends.endpoint.request_batch import Writing
from lmod_train.models.backends.endpoint.retries import Asking
from tests.models.backends.endpoint.server import ENDLESS, FAULTS, FORMS, STRANGE, Plan, serving
from tests.tiny import record, write_curated

DECODING = Decoding("served")
UNREAD = ("garbage", "empty body", "no choices", "half reply", "brotli", "zstd", "cut gzip", "damaged gzip", "deep",
          "a list", "null", "a long number", "no message", "tool calls", "204", "gzip twice")  # fmt: skip
"""Faults of replies that come, and may be paid for, but cannot be read."""
FINAL = ("gzip bomb", "endless body", "reasoning lost", "307", "404")
"""Faults after which a record is not asked again by the same command."""
NOBODY = "http://127.0.0.1:9/v1"


def asking(*urls, pace=Pace(), budget=Budget()):
    clients = [Client(route_to(url), Key(""), pace.timeout) for url in urls]
    fleet = Fleet([Replica(client, pace.concurrency) for client in clients])
    return Asking(fleet, DECODING, pace, Spending(budget), {"model": "served"}), clients[0], fleet


def asked(numbers, *urls, images=1, **options):
    """Return the replies to numbered questions, `images` of them about one image."""

    async def written(line, n):
        about = record(str(n), image=[f"{n // images}.png"])
        reply = await line.reply(about, [{"role": "user", "content": f"#{n}"}], "")
        line.written(reply.id)
        return reply

    async def together():
        line, _, _ = asking(*urls, **options)
        return await asyncio.gather(*[written(line, n) for n in numbers])

    return asyncio.run(together())


@pytest.mark.parametrize("fault", [*FAULTS, *STRANGE])
def test_every_fault_is_survived_and_its_last_one_is_named(fault):
    pace = Pace(timeout=0.3 if fault in ("silence", *ENDLESS.keys() - {"endless body"}) else 9, longest_wait=0.02)
    plan = Plan(answers=["GLAUCOMA"] * 12, fault=0.5, faults={fault: 1.0})
    met = [[bool(plan.fault_of(n, attempt)) for attempt in (1, 2)] for n in range(12)]
    with serving(plan) as server:
        replies = asked(range(12), server.url, pace=replace(pace, attempts=30))
    failed = [(fault in UNREAD and all(twice)) or (fault in FINAL and twice[0]) for twice in met]
    assert [r.reply[:8] for r in replies] == ["" if twice else "GLAUCOMA" for twice in failed]
    assert [bool(r.error) for r in replies] == failed
    with serving(Plan(answers=["GLAUCOMA"], fault=1.0, faults={fault: 1.0})) as server:
        (reply,) = asked([0], server.url, pace=pace)
        assert server.stats()["asked"][0] == (2 if fault in UNREAD else 1 if fault in FINAL else pace.attempts)
    assert (reply.reply, reply.finish_reason) == ("", "error") and len(reply.error) > 5


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_in_another_form_is_read_and_asked_for_once(form):
    with serving(Plan(answers=["GLAUCOMA"] * 3, forms=[form])) as server:
        replies = asked(range(3), server.url)
        assert server.stats()["asked"] == dict.fromkeys(range(3), 1)
    assert [(r.reply, r.tokens_in) for r in replies] == [("GLAUCOMA; Explanation: the cup is what it is.", 100)] * 3


MEMORY = """
import asyncio, json, resource, sys
from lmod_train.models.backends.endpoint.address import route_to
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
body = {"model": "m", "messages": [{"role": "user", "content": "#0"}]}

async def main(url, secret):
    client = Client(route_to(url), Key(secret), 30.0)
    both = await asyncio.gather(*[client.attempt(body) for _ in range(16)])
    print(json.dumps([ended.text for ended, _ in both if not isinstance(ended, Completion)]))

asyncio.run(main(*sys.argv[1:]))
"""


HUGE = {
    "gzip bomb": "the reply is larger than 8 MiB",
    "bomb in an error": "HTTP 500: ",
    "gzip twice": "'gzip, gzip', which was not asked for",
    "endless body": "the reply is larger than 8 MiB",
}
"""Fault -> the error of its record."""


@pytest.mark.parametrize("fault", HUGE)
def test_sixteen_replies_at_once_fit_in_a_gibibyte(fault, monkeypatch):
    """As many as are asked for at first; the process may not use more, and ends by itself with an error for each."""
    monkeypatch.setenv("A_KEY", "sk-0123456789abcdef")
    with serving(Plan(answers=["GLAUCOMA"], fault=1.0, faults={fault: 1.0})) as server:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, server.url, "A_KEY"], capture_output=True, text=True, check=True, timeout=60
        )
    errors = json.loads(done.stdout)
    assert len(errors) == 16 and all(HUGE[fault] in error for error in errors), errors


def test_what_never_succeeds_is_asked_once():
    with serving(Plan(answers=["GLAUCOMA"], fates={"rejected": 1.0})) as server:
        (reply,) = asked([0], server.url)
        assert server.stats()["asked"] == {0: 1}
    assert reply.error == "HTTP 400: this image cannot be read"


def test_a_server_of_few_places_is_not_overrun_and_everything_is_answered():
    with serving(Plan(answers=["GLAUCOMA"] * 150, delay=0.01, most=6)) as server:
        replies = asked(range(150), server.url, pace=Pace(attempts=40, longest_wait=0.1))
        stats = server.stats()
    assert not [r.error for r in replies if r.error]
    assert sum(stats["asked"].values()) < 2 * 150, "it learns how many the server takes"


def test_a_wait_longer_than_allowed_is_a_failure():
    with serving(Plan(answers=["GLAUCOMA"], fault=1.0, faults={"429": 1.0})) as server:
        (reply,) = asked([0], server.url, pace=Pace(longest_wait=0.01))
        assert server.stats()["asked"] == {0: 1}
    assert reply.error == "HTTP 429: slow down"


def test_it_gives_up_after_failures_in_a_row_and_a_wrong_key_at_once():
    pace = Pace(concurrency=1, give_up_after=3)
    with serving(Plan(answers=[""] * 9, status=403)) as server:
        errors = [r.error for r in asked(range(9), server.url, pace=pace)]
        assert sum(server.stats()["asked"].values()) == 3
    assert errors[0].startswith("HTTP 403")
    assert sum(e.startswith("not asked: 3 consecutive records failed") for e in errors) == 6
    with serving(Plan(answers=[""] * 9, status=401)) as server:
        asked(range(9), server.url, pace=pace)
        assert sum(server.stats()["asked"].values()) == 1


def test_failures_between_replies_do_not_end_a_run():
    plan = Plan(answers=["GLAUCOMA"] * 60, fates={"right": 1.0, "rejected": 1.0})
    with serving(plan) as server:
        replies = asked(range(60), server.url, pace=Pace(concurrency=1, give_up_after=15))
    assert not [r.error for r in replies if r.error.startswith("not asked")]


def test_questions_about_one_image_go_to_one_server_and_servers_share_the_work():
    plan = Plan(answers=["GLAUCOMA"] * 120, delay=0.01)
    with serving(plan) as one, serving(plan) as two:
        replies = asked(range(120), one.url, two.url, images=4, pace=Pace(concurrency=4))
        homes = [{n // 4 for n in s.stats()["asked"]} for s in (one, two)]
    assert not [r.error for r in replies if r.error]
    assert not homes[0] & homes[1] and len(homes[0] | homes[1]) == 30
    assert 12 <= len(homes[0]) <= 18


def test_the_work_of_a_dead_server_goes_to_the_others():
    with serving(Plan(answers=["GLAUCOMA"] * 40)) as server:
        began = time.perf_counter()
        replies = asked(range(40), NOBODY, server.url, images=4, pace=Pace(attempts=3))
        assert time.perf_counter() - began < 4, "nobody waits for it"
    assert not [r.error for r in replies if r.error]


def test_the_work_of_a_server_that_dies_goes_to_the_others():
    plan = Plan(answers=["GLAUCOMA"] * 80, delay=0.01)
    dying = Plan(answers=["GLAUCOMA"] * 80, delay=0.01, gone_after=15)
    with serving(plan) as one, serving(dying) as two:
        replies = asked(range(80), one.url, two.url, images=4, pace=Pace(attempts=4, longest_wait=0.2))
        sent = one.stats()["sent"]
    assert not [r.error for r in replies if r.error]
    assert len(sent) >= 60


class Gate:
    """Servers without a network: a request waits until it is let go, and then fails or succeeds by the draw.

    `most` is the largest number of records that were sent and not written at once.
    """

    def __init__(self, draw):
        self.draw, self.held, self.replied, self.most = draw, [], set(), 0

    async def attempt(self, body):
        n, let = body["messages"][0]["content"], asyncio.Event()
        self.held.append((n, let))
        self.most = max(self.most, len({n for n, _ in self.held} | self.replied))
        await let.wait()
        if self.draw.random() < 0.2:
            return Trouble("overloaded", again=True, slower=self.draw.random() < 0.5), None
        self.replied.add(n)
        return Completion("GLAUCOMA", "stop", usage=Usage(5, 1)), {}


async def idle():
    """Let the event loop run until nothing can go on without the servers or the disk."""
    for _ in range(40):
        await asyncio.sleep(0)


async def through_a_slow_disk(line, gate, method, count):
    """Let servers and disk go on in an order by the draw; return the replies as they are written."""
    messages = [[{"role": "user", "content": n}] for n in range(count)]
    tasks = [
        asyncio.create_task(line.reply(record(str(n), image=[f"{n}.png"]), messages[n], "", method))
        for n in range(count)
    ]
    written = []
    while len(written) < count:
        await idle()
        arrived = [task for task in tasks if task.done()]
        assert gate.held or arrived, "everything waits for something else"
        if gate.held and (not arrived or gate.draw.random() < 0.7):
            gate.held.pop(gate.draw.randrange(len(gate.held)))[1].set()
        else:
            task = arrived[gate.draw.randrange(len(arrived))]
            tasks.remove(task)
            written.append(task.result())
            gate.replied.discard(int(written[-1].id))
            line.written(written[-1].id)
    return written


@pytest.mark.parametrize("seed", range(8))
def test_at_most_as_many_replies_as_may_be_in_flight_are_ever_unwritten(seed, monkeypatch):
    monkeypatch.setattr(Pace, "backoff", lambda self, attempt, draw: 0.0)
    draw = random.Random(seed)
    concurrency, servers = draw.randint(1, 4), draw.randint(1, 2)
    method = Method("sum", "prompt_logprobs") if seed % 2 else Method()

    async def together():
        line, _, fleet = asking(*[NOBODY] * servers, pace=Pace(concurrency=concurrency, attempts=99))
        gate = Gate(draw)
        for replica in fleet.replicas:
            replica.client = gate
        return await through_a_slow_disk(line, gate, method, 24), gate.most

    written, most = asyncio.run(together())
    assert sorted(int(reply.id) for reply in written) == list(range(24)) and not any(reply.error for reply in written)
    assert most == concurrency * servers


def probed(url, **options):
    async def once():
        line, client, _ = asking(url, **options)
        return await probe(line, client, DECODING, Key("LAB_KEY"))

    return asyncio.run(once())


@pytest.mark.parametrize("logprobs", [True, False])
def test_the_probe_finds_what_a_server_takes_in_silence_and_does_not_give(logprobs):
    with serving(Plan(logprobs=logprobs)) as server:
        found = probed(server.url)
        assert server.stats()["asked"] == {-1: 3}
    assert found.features == (frozenset({"logprobs"}) if logprobs else frozenset())
    assert (found.model, found.fingerprint) == ("served-7b-2026", "fp_7")
    expected = f"logprobs: {'yes' if logprobs else 'no'}, prompt_logprobs: no"
    assert found.summary(server.url) == f"{server.url} serves served-7b-2026 (fp_7); {expected}"


def test_a_server_that_is_not_there_ends_the_command_with_a_cure():
    with pytest.raises(LmodError, match=r"(?s)No record was sent.*configs/server"):
        probed(NOBODY, pace=Pace(attempts=1))


def test_a_list_of_models_that_fails_is_no_matter():
    with serving(Plan()) as server:
        assert asyncio.run(Client(route_to(server.url), Key(""), 1.0).models()) == []


def test_a_batch_is_written_once_an_image_and_stays_where_it_is(tmp_path):
    several = [record(str(i), image=["a.png"]) for i in range(3)]
    several = read_records(write_curated(tmp_path, several) / "records")
    batch = Writing(DECODING, ImagePolicy())(several, tmp_path)
    urls = {id(m[0]["content"][0]["image_url"]["url"]) for m in batch.messages}
    assert len(urls) == 1 and batch.to("meta") is batch and len(batch) == 3
    assert all(json.loads(text) for text in batch.rendered)


def test_a_background_loop_returns_results_and_raises_errors():
    background = Background()

    async def value(error=None):
        await asyncio.sleep(0)
        if error:
            raise error
        return 3

    assert background.run(value()) == 3
    with pytest.raises(KeyError):
        background.run(value(KeyError("x")))
