"""What is read at each place of planted features: a place that holds the answer is read, one that does not is not."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.cache import Cache
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.extensions.dissection.linear_reading import read_places
from lmod_train.extensions.dissection.scores import (
    ABSENT,
    BEST,
    CEILINGS,
    CORRECTED,
    LAST,
    LIKELIHOOD,
    READ,
    REPLY,
    TOWER,
)
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.scoring import linear_probe
from tests.scoring.make import item
from tests.tiny import record

CHOICES = ("GLAUCOMA", "NON-GLAUCOMA")
N, WIDTH = 48, 12
TRUTH = np.arange(N) % 2
LENGTHS = {TOWER: WIDTH, "projector": WIDTH, "image.1": WIDTH, "decision.1": WIDTH, LAST: WIDTH, "likelihoods": 2}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Probes of one strength in three folds; `tests/scoring/test_linear_probe.py` has them whole."""
    for name, value in {"FOLDS": 3, "INNER": 2, "STRENGTHS": (1.0,)}.items():
        monkeypatch.setattr(linear_probe, name, value)


def write(run, holding, likelihoods, truth=TRUTH, left=()):
    """Write a run whose states hold the answer at some places only, and return its items."""
    noise = np.random.default_rng(0)
    names = {f"glaucoma/p/{i}": f"asked{i}" for i in range(len(truth))}
    write_run_records(Run(run).records, [record(id) for id in names], names)
    dissected = Dissected(run)
    dissected.lay_out(LENGTHS, CHOICES)
    cache = Cache(dissected.features, "--run", "run", "name another")
    for i, name in enumerate(names.values()):
        parts = [noise.normal(size=WIDTH) + (3 * truth[i] if place in holding else 0) for place in list(LENGTHS)[:-1]]
        if i not in left:
            cache.keep(name, np.concatenate([*parts, likelihoods[i]]).astype(np.float32))
    return [
        item(id, CHOICES[t], CHOICES[t], CHOICES, group=f"p{i}")
        for i, (id, t) in enumerate(zip(names, truth, strict=True))
    ]


def reads(table, truth=TRUTH):
    """Place -> balanced accuracy."""
    found = {}
    for place, rows in table.groupby("place"):
        read = rows["read"].to_numpy()
        found[place] = np.mean([(read[truth == c] == c).mean() for c in (0, 1)])
    return found


def likelihoods(shift=0.0, holds=True):
    made = np.random.default_rng(1).normal(scale=0.1, size=(N, 2))
    made[:, 1] += shift + (4 * TRUTH - 2 if holds else 0)
    return made


def test_the_answer_is_read_where_it_is_held_and_nowhere_else(tmp_path):
    items = write(tmp_path, {TOWER, "image.1"}, likelihoods(holds=False))
    table = read_places(tmp_path, items, permutations=3)
    found = reads(table)
    assert set(found) == {*LENGTHS, BEST, READ, CORRECTED, LIKELIHOOD, REPLY} - {"likelihoods"}
    assert min(found[p] for p in (TOWER, "image.1", BEST)) > 0.95 and found[REPLY] == 1
    assert all(0.2 < found[p] < 0.75 for p in ("projector", "decision.1", LAST, READ, LIKELIHOOD))
    kept = pd.read_parquet(Dissected(tmp_path).answers)
    pd.testing.assert_frame_equal(kept[["id", "place", "read"]], table[["id", "place", "read"]].reset_index(drop=True))
    controls = pd.read_csv(Dissected(tmp_path).controls)
    assert set(controls[controls["control"] == "best layer"]["value"]) == {"image.1"}
    null = controls[controls["control"] == "permuted labels"]["value"].astype(float)
    assert len(null) == 3 and null.max() < 0.85


def test_a_preferred_answer_is_undone_and_exchanged_words_are_read(tmp_path):
    preferring = reads(read_places(tmp_path / "a", write(tmp_path / "a", set(), likelihoods(9.0)), permutations=0))
    assert preferring[LIKELIHOOD] == 0.5 and min(preferring[CORRECTED], preferring[READ]) > 0.95
    exchanged = likelihoods()[:, ::-1]
    swapped = reads(read_places(tmp_path / "b", write(tmp_path / "b", set(), exchanged), permutations=0))
    assert swapped[LIKELIHOOD] < 0.05 and swapped[READ] > 0.95 and swapped[CORRECTED] < 0.7


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_a_model_that_always_answers_the_same_is_at_chance_everywhere(tmp_path, value):
    """Equal states and likelihoods of all images: no fold's share of classes shows through."""
    truth = (np.arange(N) % 3 == 0).astype(int)
    items = write(tmp_path, set(), np.full((N, 2), value), truth)
    dissected = Dissected(tmp_path)
    for file in dissected.features.iterdir():
        np.save(file, np.full(sum(LENGTHS.values()), value, np.float32))
    found = reads(read_places(tmp_path, [replace(i, answer=CHOICES[0]) for i in items], permutations=0), truth)
    assert set(found.values()) == {0.5}


def test_unparsed_replies_and_unknown_words_are_read_as_none(tmp_path):
    items = write(tmp_path, set(), likelihoods())
    items[0], items[1] = (replace(items[i], answer=a) for i, a in enumerate((Unparsed("no_match"), "DRUSEN")))
    table = read_places(tmp_path, items, permutations=0)
    reply = table[table["place"] == REPLY]["read"].tolist()
    assert reply[:2] == [-1, -1] and reply[2:] == TRUTH[2:].tolist()


@pytest.mark.parametrize("place", CEILINGS)
def test_a_ceiling_counts_for_the_records_it_answers(tmp_path, place):
    items = write(tmp_path, set(), likelihoods())
    reached = {i.id: i.truth for i in items[:30]} | {items[0].id: Unparsed("empty"), "glaucoma/other/1": "GLAUCOMA"}
    table = read_places(tmp_path, items, {place: reached}, permutations=0)
    assert table[table["place"] == place]["read"].tolist() == [-1, *TRUTH[1:30], *[ABSENT] * 18]
    assert not set(CEILINGS) & set(read_places(tmp_path, items, permutations=0)["place"])


def test_records_without_states_take_no_part_and_a_run_without_any_is_refused(tmp_path):
    items = write(tmp_path, set(), likelihoods(), left=(3, 4))
    table = read_places(tmp_path, items, permutations=0)
    assert len(set(table["id"])) == N - 2 and items[3].id not in set(table["id"])
    assert Dissected(tmp_path).left_out() == {items[i].id: "its states are missing" for i in (3, 4)}
    for file in Dissected(tmp_path).features.iterdir():
        file.unlink()
    with pytest.raises(BadArgument, match=r"its states are missing.*\nNext: .*--task four_way"):
        read_places(tmp_path, items)
    Dissected(tmp_path).list_left_out({i.id: "the model was tuned on the same image file" for i in items}, 0)
    with pytest.raises(BadArgument, match=r"the same image file.*\nNext: .*--split held_out"):
        read_places(tmp_path, items)
    with pytest.raises(BadArgument, match="records to dissect"):
        read_places(tmp_path, [])


@pytest.mark.parametrize("truth", [np.zeros(N, int), (np.arange(N) < 1).astype(int), (np.arange(N) < 3).astype(int)])
def test_too_few_patients_of_a_class_are_refused(tmp_path, truth):
    items = write(tmp_path, set(), likelihoods(), truth)
    with pytest.raises(BadArgument, match="at least two classes with four patients each"):
        read_places(tmp_path, items)


@pytest.mark.parametrize("last", [1, 2])
def test_a_killed_reading_leaves_answers_with_their_controls_or_none(tmp_path, monkeypatch, last):
    """A report reads both of a run that has answers."""

    class Killed(Exception): ...

    real, kept = Dissected.keep, []

    def keep(self, file, rows):
        if len(kept) == last:
            raise Killed
        kept.append(file)
        real(self, file, rows)

    items, own = write(tmp_path, set(), likelihoods()), Dissected(tmp_path)
    monkeypatch.setattr(Dissected, "keep", keep)
    with pytest.raises(Killed) if last == 1 else nullcontext():
        read_places(tmp_path, items, permutations=0)
    assert own.controls.exists() and own.answers.exists() == (last == 2)


def test_a_class_without_records_is_no_class(tmp_path):
    choices = (*CHOICES, "SUSPECT")
    items = [replace(i, choices=choices) for i in write(tmp_path, {TOWER}, likelihoods())]
    Dissected(tmp_path).folder.joinpath("places.json").unlink()
    Dissected(tmp_path).lay_out({**LENGTHS, "likelihoods": 3}, choices)
    for file in Dissected(tmp_path).features.iterdir():
        np.save(file, np.append(np.load(file), np.float32(-9)))
    found = reads(read_places(tmp_path, items, permutations=1))
    assert found[TOWER] > 0.95 and found[LIKELIHOOD] == 1
