"""Runs that were asked otherwise are not compared, unless that is the comparison; settings belong to a model."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from lmod_train.cli.report import report
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part, Record
from lmod_train.report.asked_alike import KINDS, asked_of, otherwise, remarks_on
from lmod_train.report.paired_runs import ALL, comparable, letter_display, pairs
from lmod_train.report.results import read_results
from lmod_train.report.sections.comparisons import Comparisons
from lmod_train.report.viewer.first_screen import first_screen
from lmod_train.report.warned import warned
from tests.report.make import curate, run

N = 24


def said(role: str, *parts: str) -> Message:
    return Message(role, tuple(Part("image" if part == "<image>" else "text", part) for part in parts))


def asked(record: Record, **changes) -> Record:
    """A record with a question, its image and two examples' worth of room, as changes have it."""
    shas = ("aa",)
    return replace(record, messages=(said("user", "<image>", "Which?"),), image_sha256=shas, **changes)


CHANGES = {
    "wording": lambda r: replace(r, messages=(said("user", "<image>", "Which? (It is normal.)"),)),
    "images": lambda r: replace(r, image_sha256=("bb",)),
    "choices": lambda r: replace(r, choices=tuple(reversed(r.choices))),
    "shots": lambda r: replace(
        r,
        messages=(said("user", "<image>", "Which?"), said("assistant", "normal"), *r.messages),
        image=("ex.jpg", *r.image),
        image_sha256=("ee", *r.image_sha256),
    ),
    "truths": lambda r: replace(r, answer=f" {r.answer}"),
    "system": lambda r: replace(r, messages=(said("system", "You are an ophthalmologist."), *r.messages)),
}


def changed(folder: Path, change, settings: str = "{}", weights=None) -> Path:
    """Write the records of a run anew, by a function of its place and record."""
    found = read_predictions(folder / "predictions.parquet")
    made = [
        replace(p, record=change(i, asked(p.record)), reply=replace(p.reply, settings=settings))
        for i, p in enumerate(found)
    ]
    write_predictions(folder / "predictions.parquet", made)
    if weights:
        config = yaml.safe_load((folder / "config.yaml").read_text()) or {}
        config["provenance"] = {"weights": {"m": weights}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


def as_it_is(place: int, record: Record) -> Record:
    return record


@pytest.fixture(scope="module")
def curated(tmp_path_factory) -> Path:
    return curate(tmp_path_factory.mktemp("c") / "curated", N)


def two_folders(tmp_path: Path, curated: Path, change, **more) -> list[Path]:
    plain = changed(run(tmp_path / "plain", 0.5, curated=curated, seed=1), as_it_is)
    return [plain, changed(run(tmp_path / "other", 1.0, curated=curated, seed=2), change, **more)]


def two(tmp_path: Path, curated: Path, change, **more):
    return read_results(two_folders(tmp_path, curated, change, **more))


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_asked_otherwise_is_said_and_not_compared(tmp_path: Path, curated: Path, kind: str):
    results = two(tmp_path, curated, lambda i, r: CHANGES[kind](r))
    for one in otherwise(results):
        assert one.kinds == {kind: N} and (one.n, one.of) == (N, N)
    assert {one.task for one in otherwise(results)} == {"four_way", "glaucoma", "anatomy"}
    assert all(pair.test.n == 0 and pair.p is None for pair in pairs(comparable(results), ALL))
    assert {place.letters for place in letter_display(comparable(results), fewest=2)[0]} == {"not compared"}
    screen = first_screen(results)
    for finding in screen.findings:
        assert "Not ranked, as asked otherwise: base (other)" in finding.claim and "other" not in finding.best
        assert "not shown to differ" not in finding.text and "; base (other)" not in finding.claim.partition(".")[0]
    assert [w.phrase for w in warned(results)[results.runs[1].path, "glaucoma"] if "otherwise" in w.phrase] == [
        "asked otherwise"
    ]


@pytest.mark.parametrize("kind", CHANGES)
def test_it_is_compared_if_that_is_the_comparison(tmp_path: Path, curated: Path, kind: str):
    results = replace(two(tmp_path, curated, lambda i, r: CHANGES[kind](r)), compare=(kind,))
    assert otherwise(results) == [] and all(pair.test.n == N for pair in pairs(comparable(results), ALL))
    others = replace(results, compare=tuple(k for k in KINDS if k != kind))
    assert all(pair.test.n == 0 for pair in pairs(comparable(others), ALL))


def test_equal_questions_are_compared_as_before(tmp_path: Path, curated: Path):
    results = two(tmp_path, curated, as_it_is)
    assert otherwise(results) == [] and all(pair.test.n == N for pair in pairs(comparable(results), ALL))
    assert all("asked otherwise" not in finding.text for finding in first_screen(results).findings)


@pytest.mark.parametrize(
    ("n", "phrase"), [(1, "partly asked otherwise"), (12, "partly asked otherwise"), (13, "asked otherwise")]
)
def test_the_questions_that_differ_are_left_out_and_counted(tmp_path: Path, curated: Path, n: int, phrase: str):
    def first_of_each(place: int, record: Record) -> Record:
        return CHANGES["wording"](record) if int(record.key) < n else record

    results = two(tmp_path, curated, first_of_each)
    for one in otherwise(results):
        assert (one.n, one.of, one.kinds) == (n, N, {"wording": n})
    assert all(pair.test.n == N - n for pair in pairs(comparable(results), ALL))
    phrases = {w.phrase for w in warned(results)[results.runs[1].path, "glaucoma"]}
    assert phrase in phrases


def test_runs_that_were_asked_alike_are_compared_with_each_other(tmp_path: Path, curated: Path):
    hint = lambda i, r: CHANGES["wording"](r)  # noqa: E731
    folders = [changed(run(tmp_path / n, 0.5 + i / 9, curated=curated, seed=i), c)
               for i, (n, c) in enumerate([("a", as_it_is), ("b", hint), ("c", hint), ("d", as_it_is)])]  # fmt: skip
    results = read_results(folders)
    found = {(p.first[-2], p.second[-2]): p.test.n for p in pairs(comparable(results), ALL) if p.task == "glaucoma"}
    assert found == {("a", "b"): 0, ("a", "c"): 0, ("a", "d"): N, ("b", "c"): N, ("b", "d"): 0, ("c", "d"): 0}


GREEDY, SAMPLED = '{"do_sample": false}', '{"do_sample": true, "seed": 1}'


@pytest.mark.parametrize("kind", ["same weights", "other weights", "weights not recorded"])
def test_settings_count_between_runs_of_one_model_alone(tmp_path: Path, curated: Path, kind: str):
    weights = {"same weights": ("w", "w"), "other weights": ("w", "v"), "weights not recorded": (None, None)}[kind]
    stated = zip("ab", (GREEDY, SAMPLED), weights, strict=True)
    folders = [changed(run(tmp_path / n, 0.8, curated=curated), as_it_is, s, w) for n, s, w in stated]
    results = read_results(folders)
    if kind == "other weights":
        assert otherwise(results) == [] and all(p.test.n == N for p in pairs(comparable(results), ALL))
        return
    assert {frozenset(one.kinds) for one in otherwise(results)} == {frozenset({"settings"})}
    assert pairs(comparable(results), ALL) == [] == pairs(comparable(results), results.names[0])
    compared = replace(results, compare=("settings",))
    assert otherwise(compared) == [] and all(p.test.n == N for p in pairs(comparable(compared), ALL))


def test_two_draws_of_one_model_are_compared(tmp_path: Path, curated: Path):
    stated = zip("ab", (SAMPLED, SAMPLED.replace("1", "2")), strict=True)
    results = read_results([changed(run(tmp_path / n, 0.8, curated=curated), as_it_is, s, "w") for n, s in stated])
    assert otherwise(results) == []


def test_an_earlier_turn_is_no_part_of_the_question():
    from tests.scoring.make import record

    one = asked(record("a", image="a.jpg"))
    more = replace(one, messages=(said("user", "Hello"), said("assistant", "Yes?"), *one.messages))
    assert [k for k in asked_of(one) if asked_of(one)[k] != asked_of(more)[k]] == ["shots"]
    assert asked_of(replace(one, messages=()))["wording"] == ()


def test_the_option_is_read_and_a_wrong_word_lists_the_others(tmp_path: Path, curated: Path, capsys):
    plain = changed(run(tmp_path / "plain", 0.5, curated=curated), as_it_is)
    other = changed(run(tmp_path / "other", 1.0, curated=curated), lambda i, r: CHANGES["wording"](r))
    report([plain, other], sections=[Comparisons()], out=tmp_path / "r")
    assert "(`--compare wording` if that is the comparison)" in capsys.readouterr().out
    report([plain, other], sections=[Comparisons()], out=tmp_path / "r", compare="wording, shots")
    said = capsys.readouterr().out
    assert "which is what is compared" in said and "not compared" not in said and "Not ranked" not in said
    with pytest.raises(BadArgument, match=r"words.*some of wording, images"):
        report([plain, other], sections=[Comparisons()], out=tmp_path / "r", compare="words")


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(("n", "phrase"), [(N, "asked otherwise"), (5, "partly asked otherwise")])
def test_only_the_odd_run_is_marked_in_any_order(tmp_path: Path, curated: Path, order, n: int, phrase: str):
    def odd(place, record):
        return CHANGES["wording"](record) if int(record.key) < n else record

    changes = {"a": as_it_is, "odd": odd, "c": as_it_is}
    made = [changed(run(tmp_path / name, 0.6, curated=curated, seed=1), change) for name, change in changes.items()]
    results = read_results([made[place] for place in order])
    marked = {path.name for (path, _), own in warned(results).items() for w in own if w.phrase == phrase}
    assert marked == {"odd"} and {one.run for one in otherwise(results)} == {n for n in results.names if "odd" in n}
    for finding in first_screen(results).findings:
        assert "odd" not in finding.best or n < N, finding.text
        assert ("Not ranked, as asked otherwise" in finding.text) == (n == N)


def configured(folder: Path, model, provenance=None) -> Path:
    config = yaml.safe_load((folder / "config.yaml").read_text()) or {}
    config |= {"model": {"init_args": {"backend": {"init_args": model}}}}
    config["provenance"] = (config.get("provenance") or {}) | (provenance or {})
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


SENT = {
    "system": ({"prompt": {"system_prompt": "Reply in one word."}}, None),
    "template": ({"prompt": {"template": "words"}}, None),
    "pixels": ({"images": {"max_pixels": 147456}}, None),
    "resolution": ({}, {"network": {"resolution": 384}}),
}


@pytest.mark.parametrize("what", SENT)
@pytest.mark.parametrize("alike", [True, False])
def test_what_a_backend_adds_or_shows_counts_for_the_same_weights_and_system_words_always(
    tmp_path: Path, curated: Path, what: str, alike: bool
):
    plain, other = two_folders(tmp_path, curated, as_it_is, weights="w" if alike else "v")
    changed(plain, as_it_is, weights="w")
    model, provenance = SENT[what]
    configured(other, model, provenance)
    found = otherwise(read_results([configured(plain, {}), other]))
    kind = "system" if what == "system" else "settings"
    assert {k for one in found for k in one.kinds} == ({kind} if alike or what == "system" else set())


def test_a_comparison_of_what_was_asked_is_said(tmp_path: Path, curated: Path):
    results = replace(two(tmp_path, curated, lambda i, r: CHANGES["wording"](r)), compare=("wording",))
    said = [text for text in remarks_on(results) if "which is what is compared" in text]
    assert len(said) == 3 and all("wording of 24 of 24 questions" in text for text in said)
    assert not any("which is what" in text for text in remarks_on(replace(results, compare=())))


def test_a_services_model_of_one_name_is_one_model(tmp_path: Path, curated: Path):
    for names, found in ((("gpt-x", "gpt-x"), True), (("gpt-x", "gpt-y"), False)):
        folders = two_folders(tmp_path / "-".join(names), curated, as_it_is, settings='{"temperature": 1}')
        for folder, name in zip(folders, names, strict=True):
            rows = read_predictions(folder / "predictions.parquet")
            write_predictions(
                folder / "predictions.parquet", [replace(p, reply=replace(p.reply, model=name)) for p in rows]
            )
        assert bool(otherwise(read_results(folders))) is found
