"""The estimate of an evaluation, against a server that bills by text, pixels and reply."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.cli import experiment
from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Reply
from lmod_train.training.callbacks.estimate import needs_of, spread
from tests.models.backends.endpoint.server import Plan, serving
from tests.models.backends.test_openai import CONFIGS, WORDS
from tests.tiny import hashed, record, write_curated

PRICES = ["--model.backend.budget.price_in", "2", "--model.backend.budget.price_out", "8"]


def ask(server, *options, command="test"):
    """Run a command in the present folder; return its status."""
    parts = ["--model", CONFIGS / "model/openai.yaml", "--trainer", CONFIGS / "trainer/cpu.yaml"]
    data = ["--data.curated", "curated", "--data.tasks", f"[{CONFIGS / 'task/glaucoma.yaml'}]"]
    endpoint = ["--model.backend.base_url", server.url, "--model.backend.model", "m", *PRICES]
    quiet = ["--trainer.logger", "false", "--trainer.enable_progress_bar", "false", "--run", "run"]
    return experiment.run([str(a) for a in (command, *parts, *data, *endpoint, *quiet, *options)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A curated folder of 240 questions of different lengths about 60 JPEG images of different sizes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "curated").mkdir()
    draw = np.random.default_rng(3)
    drawn = [f"{i}.jpg" for i in range(60)]
    words = [" ".join(["Look well."] * int(draw.integers(0, 60))) for _ in range(240)]
    records = [
        record(f"glaucoma/p/{i:04}", f"{words[i]} #{i}", [drawn[i // 4]], WORDS[i % 2], split="test")
        for i in range(240)
    ]
    write_curated(tmp_path / "curated", records)
    for name in drawn:
        height, width = draw.integers(100, 500, 2)
        pixels = draw.integers(0, 255, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "curated" / name, quality=50)
    records = [hashed(tmp_path / "curated", r) for r in records]
    write_records(tmp_path / "curated/records/glaucoma.parquet", records)
    return records


def plan_of(records):
    return Plan(answers=[r.answer for r in records], billed=True)


def numbers(printed):
    """Return the predicted costs with their ends, and those of the replies that are there."""
    found = re.search(r"costs of (\S+) \((\S+) to (\S+)\) besides (\S+) for", printed)
    return [float(number) for number in found.groups()]


def test_the_estimate_is_the_bill_and_the_run_pays_no_question_twice(folder, capfd):
    with serving(plan_of(folder)) as server:
        assert ask(server, "--estimate") == 0
        value, low, high, spent = numbers(capfd.readouterr().out)
        stats = server.stats()
        assert len(stats["asked"]) == 21 and len(stored()) == 20, "and the test question"
        assert ask(server) == 0
        again = numbers(capfd.readouterr().out)
        stats = server.stats()
    bill = (2 * stats["bill"][0] + 8 * stats["bill"][1]) / 1e6
    assert abs(value + spent - bill) < 0.05 * bill and low <= bill - spent <= high
    assert again == [value, low, high, spent], "it is stated again before the first request"
    assert max(n for i, n in stats["asked"].items() if i >= 0) == 1 and len(stored()) == 240


def stored():
    return read_replies(Path("run/replies"))


def test_costs_above_the_limit_are_refused_before_a_request_and_the_cure_helps(folder):
    with serving(plan_of(folder)) as server:
        with pytest.raises(LmodError, match=r"not known yet\. No request was sent(?s:.*)--estimate"):
            ask(server, "--max_cost", "9")
        assert not server.stats()["asked"]
        ask(server, "--estimate", "24")
        before = server.stats()["asked"]
        with pytest.raises(LmodError, match=r"may cost .*No request was sent") as caught:
            ask(server, "--max_cost", "0.1")
        assert server.stats()["asked"] == before
        cure = re.search(r"`(--max_cost \S+)`", str(caught.value))[1].split()
        assert ask(server, *cure) == 0


def test_a_run_that_turns_out_dearer_stops_at_the_limit_with_what_was_spent_before(folder):
    """The first thirty replies, those of the sample among them, are the cheapest."""
    cheap = {"prompt_tokens": 1, "completion_tokens": 1}
    dear = {"prompt_tokens": 1000, "completion_tokens": 100}
    with serving(Plan(answers=[r.answer for r in folder], usage=[*[cheap] * 30, dear])) as server:
        ask(server, "--estimate")
        assert ask(server, "--max_cost", "0.05") == INCOMPLETE
        spent = sum((2 * r.tokens_in + 8 * r.tokens_out) / 1e6 for r in stored().values())
    in_flight = 32 * 0.0028  # at most, sent before the first dear reply was read; without a limit 0.588 are spent
    assert 0.05 - 0.0028 < spent <= 0.05 + in_flight


def test_a_model_of_this_machine_is_refused(folder):
    with pytest.raises(BadArgument, match="model behind an endpoint"):
        experiment.run(["test", "--config", str(CONFIGS / "scripted.yaml"), "--data.curated", "curated",
                        "--data.tasks", f"[{CONFIGS / 'task/glaucoma.yaml'}]",
                        "--run", "run", "--estimate"])  # fmt: skip


class Priced:
    """What charges a tenth of a prompt token."""

    at_once, share_paid = 4, 0.5

    def cost(self, tokens_in, tokens_out):
        return tokens_in / 10


def test_questions_images_and_hours_are_counted(folder):
    replies = {r.id: Reply(r.id, "YES", tokens_in=100, tokens_out=2, seconds=3.6) for r in folder[:40]}
    whole = Priced()
    whole.share_paid = 1.0
    found = needs_of(folder, replies, {name: 1.0 for r in folder for name in r.image}, whole)
    assert (found.questions, found.left, found.images, found.measured) == (240, 200, 50, 40)
    assert found.money.value == pytest.approx(2000) and found.spent == pytest.approx(400)
    assert found.hours == pytest.approx(200 * 3.6 / 4 / 3600)
    half = needs_of(folder, replies, {}, Priced())
    assert half.money.value == pytest.approx(1000) and half.hours is None
    assert "as batches" in half.text(Priced())


def test_a_sample_is_spread_over_tasks_and_lengths(folder):
    several = [replace(r, id=f"{task}/{r.id}", task=task) for r in folder[:40] for task in ("a", "b")]
    drawn = spread(several, 20)
    assert len({r.id for r in drawn}) == 20 and sum(r.task == "a" for r in drawn) == 10
    assert spread(several, 500) and len(spread(several, 500)) == 80 and spread(several, -1) == []
