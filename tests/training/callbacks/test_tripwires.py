"""The probe of a training: what it asks, what it writes, and that it stops a model that has nothing left to say."""

import json

import pytest
import torch

from lmod_train.core.types import Batch, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.tripwires import Collapsed, Tripwires, exchanged, probe_of
from tests.tiny import record, trainer, write_curated

WORDS = ("NON-GLAUCOMA", "GLAUCOMA")
RECORDS = [
    record(f"glaucoma/p/{i:02}", image=[f"{i}.png"], answer=WORDS[i % 2], split="train" if i < 8 else "val")
    for i in range(16)
]


class Parrot(LmodModule):
    """Looks at the picture's name and answers rightly, until it says `said` from a step on."""

    def __init__(self, said: str = "", since: int = 10**9, end: str = "stop") -> None:
        super().__init__()
        self.weight, self.rest = torch.nn.Parameter(torch.zeros(1)), torch.nn.Dropout(0.5).eval()
        self.said, self.since, self.end = said, since, end
        self.modes: list[bool] = []

    def collate(self, records, root):
        return Batch(records)

    def respond(self, batch):
        self.modes.append(self.training or torch.is_grad_enabled())
        lost = self._trainer is not None and self.trainer.global_step >= self.since
        return [
            Reply(r.id, self.said if lost else WORDS[int(r.image[0].split(".")[0]) % 2], self.end if lost else "stop")
            for r in batch.records
        ]

    def training_step(self, batch, batch_idx):
        assert self.training and not self.rest.training, "every part is in the mode it was in"
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def fit(place, module, wires, **options):
    data = RecordsDataModule(write_curated(place, RECORDS), [Glaucoma()], batch_size=2)
    run = trainer(place, callbacks=[wires], max_epochs=3, limit_val_batches=0, **options)
    run.fit(module, data)
    return run


def lines(place):
    return [json.loads(line) for line in (place / "tripwires.jsonl").read_text().splitlines()]


def test_a_healthy_run_is_asked_before_and_every_so_many_steps(tmp_path):
    module = Parrot()
    run = fit(tmp_path, module, Tripwires(every=4, n=6))
    told = lines(tmp_path)
    assert [line["step"] for line in told] == [0, 4, 8, 12] and not any(line["tripped"] for line in told)
    assert all(line["n"] == 6 and line["right"] == 1 and line["identical"] == 0.5 for line in told)
    assert told[0]["right_shuffled"] == 0, "neighbours of the probe have the other answer"
    assert told[0]["answers"]["glaucoma"] == {
        "answered": dict.fromkeys(sorted(WORDS), 3),
        "true": dict.fromkeys(sorted(WORDS), 3),
    }
    assert run.logged_metrics["probe/lost_without_picture"] == 1
    assert not any(module.modes), "asked in evaluation mode, without gradients"


@pytest.mark.parametrize(
    ("said", "end", "step"), [("", "stop", 8), ("Opt " * 90, "length", 8), ("GLAUCOMA", "stop", 12)]
)
def test_a_collapse_stops_the_run_at_its_second_probe(tmp_path, said, end, step):
    """One answer to everything counts in the second half alone, which begins at step 8 of 12 here."""
    with pytest.raises(Collapsed, match=rf"(?s)at step {step}.*\nNext: .*doctor") as error:
        fit(tmp_path, Parrot(said, 4, end), Tripwires(every=4, n=6))
    assert repr(said[:60]) in str(error.value)
    assert [bool(line["tripped"]) for line in lines(tmp_path)][-3:] == [False, True, True]


def test_a_short_run_is_asked_five_times_however_seldom_it_is_told_to(tmp_path):
    data = RecordsDataModule(write_curated(tmp_path, RECORDS), [Glaucoma()], batch_size=2)
    run = trainer(tmp_path, callbacks=[Tripwires(n=6)], max_epochs=14, limit_val_batches=0)  # 56 steps
    run.fit(Parrot(), data)
    assert [line["step"] for line in lines(tmp_path)] == [0, 11, 22, 33, 44, 55]


def test_it_trains_on_where_it_is_told_to(tmp_path):
    run = fit(tmp_path, Parrot("", 4), Tripwires(every=4, n=6, stop=False))
    assert run.global_step == 12 and lines(tmp_path)[-1]["empty"] == 1


def test_no_probe_where_none_is_asked_for_or_the_module_does_not_write(tmp_path):
    classifier = Parrot()
    classifier.choices = WORDS
    for module, wires in ((Parrot(), Tripwires(every=0)), (classifier, Tripwires(every=4))):
        fit(tmp_path, module, wires)
        assert not module.modes and not (tmp_path / "tripwires.jsonl").exists()


def test_a_continued_run_remembers_that_the_last_probe_was_bad():
    wires, again = Tripwires(), Tripwires()
    wires._before, wires._asked_at = True, 200
    again.load_state_dict(wires.state_dict())
    assert again._before and again._asked_at == 200


def test_the_probe_takes_turns_over_tasks_and_answers_and_not_the_order_of_records():
    rare = [record("four_way/p/1", task="four_way", answer="NORMAL"), record("glaucoma/p/99", answer="UNSURE")]
    many = [record(f"glaucoma/p/{i:02}", answer=WORDS[i > 8]) for i in range(10)]
    chosen = probe_of([*many, *rare], 5)
    assert [r.id for r in chosen] == [r.id for r in probe_of([*rare[::-1], *many[::-1]], 5)]
    assert {r.answer for r in chosen} == {"NORMAL", "UNSURE", *WORDS} and len(chosen) == 5
    assert len(probe_of(many, 99)) == 10 and probe_of([], 4) == []


def test_pictures_are_exchanged_within_task_and_modality():
    ours = [record("g/1", image=["a.png"]), record("g/2", image=["b.png"]), record("g/3", image=["a.png"])]
    others = [
        record("o/1", image=["c.png"], modality="OCT"),
        record("t/1", image=[]),
        record("f/1", task="f", image=["d.png"]),
    ]
    made = exchanged([*ours, *others])
    assert [(r.id, r.image) for r in made] == [("g/1", ("b.png",)), ("g/2", ("a.png",)), ("g/3", ("b.png",))]
    assert [r.messages for r in made] == [r.messages for r in ours] and [r.answer for r in made] == [
        r.answer for r in ours
    ]


def test_of_several_images_all_are_exchanged_with_those_of_a_record_that_shows_as_many():
    shown = {"g/1": ["a.png", "b.png"], "g/2": ["c.png"], "g/3": ["b.png", "a.png"]}
    made = exchanged([record(id, image=images) for id, images in shown.items()])
    assert [(r.id, r.image) for r in made] == [("g/1", ("b.png", "a.png")), ("g/3", ("a.png", "b.png"))]
