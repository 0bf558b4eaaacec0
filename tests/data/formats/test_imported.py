"""From LLaVA conversations to a curated folder that every other stage takes for its own."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, CurationConflict
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Unparsed
from lmod_train.data.curation import pipeline as results
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.conversations import Conversations, import_conversations
from lmod_train.tasks.building import tasks_asked
from lmod_train.tasks.conversation import Conversation
from tests.data.curation.world import Folders, Glaucoma, photograph
from tests.tabled import tabled

ORIGIN = {"name": "talk", "licence": "CC BY-NC 4.0", "modality": "CFP"}


def said(*turns: str) -> list[dict[str, str]]:
    return [{"from": ("human", "gpt")[n % 2], "value": text} for n, text in enumerate(turns)]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty pictures of noise, one of them large, and one that is no picture."""
    folder = tmp_path_factory.mktemp("images")
    for n in range(40):
        size = (90, 60, 3) if n == 0 else (20, 16, 3)
        pixels = np.random.default_rng(n).integers(0, 255, size, dtype=np.uint8)
        (folder / "deep").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / "deep" / f"{n}.png")
    (folder / "broken.jpg").write_bytes(b"no picture")
    return folder


def write(folder: Path, items: list[Any]) -> Path:
    file = folder / "talk.json"
    file.write_text(json.dumps(items), encoding="utf-8")
    return file


def item(key: str, image: str | list[str] | None, *turns: str) -> dict[str, Any]:
    names = [image] if isinstance(image, str) else image or []
    first, *rest = turns or ("Which eye?", "Left.")
    shown = {"image": image} if image else {}
    return {"id": key, **shown, "conversations": said("<image>\n" * len(names) + first, *rest)}


def run(
    tmp_path: Path,
    images: Path,
    items: list[Any],
    out: str = "curated",
    origin: dict[str, str] | None = None,
    **options: Any,
) -> Path:
    source = Conversations(write(tmp_path, items), images, **ORIGIN | (origin or {}))
    import_conversations(source, tmp_path / out, **{"workers": 1} | options)
    return tmp_path / out


def test_a_human_turn_is_a_record_with_what_was_said_before(tmp_path: Path, images: Path):
    talk = [item("a b", "deep/1.png", "Which eye?", " Left.\n", "Why?", "The disc."), item("c", None)]
    out = run(tmp_path, images, talk)
    first, second, third = read_records(out / "records")
    assert [r.id for r in (first, second, third)] == [
        "conversation/talk/a%20b/1",
        "conversation/talk/a%20b/2",
        "conversation/talk/c/1",
    ]
    assert (first.answer, second.answer) == (" Left.\n", "The disc.")  # verbatim
    assert [(m.role, [p.text or p.type for p in m.parts]) for m in second.messages] == [
        ("user", ["image", "Which eye?"]),
        ("assistant", [" Left.\n"]),
        ("user", ["Why?"]),
    ]
    assert first.messages == second.messages[:1]
    assert (first.source, first.modality, first.licence, first.choices) == ("talk", "CFP", "CC BY-NC 4.0", ())
    assert third.image == third.image_sha256 == () and third.group == "without an image: c"
    assert first.split == second.split and first.group == "deep/1.png"


def test_images_are_shrunk_once_as_curation_does(tmp_path: Path, images: Path):
    out = run(tmp_path, images, [item("a", "deep/0.png"), item("b", "deep/0.png")], longest_side=45)
    records = read_records(out / "records")
    assert {r.image for r in records} == {("images/talk/deep/0.png.jpg",)}
    (written,) = (p for p in (out / "images").rglob("*") if p.is_file())
    with Image.open(written) as image:
        assert (image.format, image.size) == ("JPEG", (30, 45))
    assert {r.image_sha256 for r in records} == {(sha256_of(written),)} and {r.scale for r in records} == {0.5}


def test_an_earlier_turn_shows_only_its_own_images(tmp_path: Path, images: Path):
    late = {"id": "a", "image": ["deep/1.png"], "conversations": said("Hello", "Hi", "And <image>?", "Left.")}
    one, two = read_records(run(tmp_path, images, [late]) / "records")
    assert (len(one.image), len(two.image)) == (0, 1)


def test_what_shares_an_image_shares_a_split_also_by_way_of_others(tmp_path: Path, images: Path):
    chain = [item(f"c{n}", [f"deep/{n}.png", f"deep/{n + 1}.png"]) for n in range(9)]
    others = [item(f"o{n}-{m}", f"deep/{n}.png") for n in range(10, 40) for m in range(2)]
    out = run(tmp_path, images, [*others, *chain], ratios=(0.5, 0.25, 0.25))
    records = read_records(out / "records")
    assert {r.group for r in records if r.key.startswith("c")} == {"deep/0.png"}
    by_image: dict[str, set[str]] = {}
    for record in records:
        for name in record.image:
            by_image.setdefault(name, set()).add(record.split)
    assert all(len(splits) == 1 for splits in by_image.values())
    assert {r.split for r in records} == {"train", "val", "test"}
    counts = read_manifest(out)["counts"]["conversation"]
    assert {s: c["records"] for s, c in counts.items()} == {s: sum(r.split == s for r in records) for s in counts}
    assert sum(c["groups"] for c in counts.values()) == 31
    assert abs(counts["train"]["records"] - 0.5 * len(records)) <= 9


def test_conversations_of_a_patient_are_in_one_split(tmp_path: Path, images: Path):
    items = [item(f"c{n}", f"deep/{n}.png") | {"who": f"Erika {n // 4}"} for n in range(39)]
    del items[38]["who"]
    out = run(tmp_path, images, items, origin={"patient": "who"}, ratios=(0.5, 0.25, 0.25))
    records = read_records(out / "records")
    splits = {r.group: {other.split for other in records if other.group == r.group} for r in records}
    assert len(splits) == 11 and all(len(of) == 1 for of in splits.values())
    assert not any("Erika" in repr(record) for record in records)
    (lost,) = [d for d in read_dropped(out / "dropped.csv") if d.reason == "no patient"]
    assert (lost.key, lost.extent) == ("c38", "part")


def test_bad_items_are_listed_and_cost_no_other(tmp_path: Path, images: Path):
    talk = [item("a", "deep/1.png"), item("b", "broken.jpg"), item("c", "gone.jpg"), {"id": "d"}]
    talk += [item("e", ["broken.jpg", "deep/2.png"])]
    out = run(tmp_path, images, talk)
    assert [r.key for r in read_records(out / "records")] == ["a"]
    rows = {r["key"]: r for r in csv.DictReader((out / "dropped.csv").open())}
    assert {k: r["reason"] for k, r in rows.items()} == {
        "b": "image_unreadable", "c": "image_missing", "d": "not_an_item", "e": "image_unreadable",
    }  # fmt: skip
    assert rows["b"]["file"] == "broken.jpg"
    assert read_manifest(out)["dropped"] == {
        "talk": {"read": {"image_missing": 1, "image_unreadable": 2, "not_an_item": 1}}
    }
    assert [p.name for p in (out / "images").rglob("*.jpg")] == ["1.png.jpg"]  # what no record shows is not kept


def test_the_same_file_and_seed_give_the_same_bytes(tmp_path: Path, images: Path):
    talk = [item(f"{n}", f"deep/{n}.png") for n in range(20)]
    a, b = (run(tmp_path, images, talk, out=name, seed=3) for name in "ab")
    files = sorted(p.relative_to(a) for p in a.rglob("*") if p.is_file())
    assert len(files) == 26  # 20 images, records of three tasks, manifest, dropped.csv, files.csv
    assert all((a / f).read_bytes() == (b / f).read_bytes() for f in files)
    other = run(tmp_path, images, talk, out="c", seed=4)
    assert [r.split for r in read_records(other / "records")] != [r.split for r in read_records(a / "records")]


def test_the_manifest_states_what_the_file_does_not_and_finds_copies(tmp_path: Path, images: Path):
    (tmp_path / "pictures").mkdir()
    for name in ("one.png", "two.png"):
        (tmp_path / "pictures" / name).write_bytes((images / "deep" / "5.png").read_bytes())
    talk = [item("a", "one.png"), item("b", "two.png")]
    out = run(tmp_path, tmp_path / "pictures", talk, ratios=(0.5, 0.5, 0.0))
    manifest = read_manifest(out)
    assert manifest["sources"]["talk"]["licence"] == "CC BY-NC 4.0"
    assert manifest["sources"]["talk"]["redistributable"] is False
    stated = {"file": "talk.json", "sha256": sha256_of(tmp_path / "talk.json"), "samples": 2}
    assert {k: manifest["inputs"]["talk"][k] for k in stated} == stated
    exact = manifest["leakage"]["counts"]["exact"]
    assert (exact["pairs"], exact["crossing_splits"]) == (1, 0)  # copies of one file are in one split
    assert len({(r.split, r.group) for r in read_records(out / "records")}) == 1
    assert (out / "leakage.csv").exists()
    root = manifest["sources"]["talk"].pop("root")
    assert root == str(tmp_path / "pictures") and str(tmp_path) not in json.dumps(manifest)


def test_the_task_of_the_records_reads_them(tmp_path: Path, images: Path):
    records = read_records(run(tmp_path, images, [item("a", "deep/1.png")]) / "records")
    (task,) = tasks_asked(records)
    assert task.name == "conversation"
    assert not isinstance(
        task.parse(type("R", (), {"reply": "x", "error": "", "finish_reason": "stop"})(), records[0]), Unparsed
    )


@tabled(
    ("change", "named"),
    [
        ({"origin": {"name": "two words"}}, "--name"),
        ({"longest_side": 0}, "--longest_side"),
        ({"ratios": (0.5, 0.1, 0.1)}, "ratios"),
        ({"images": Path("nowhere")}, "--images"),
    ],
)
def test_a_bad_argument_is_named_before_any_work(tmp_path: Path, images: Path, change: dict, named: str):
    with pytest.raises(BadArgument, match=named):
        run(tmp_path, items=[item("a", "deep/1.png")], **{"images": images} | change)
    assert [p.name for p in tmp_path.iterdir()] == ["talk.json"]


def test_a_file_of_which_nothing_is_left_and_an_occupied_folder_are_errors(tmp_path: Path, images: Path):
    with pytest.raises(BadArgument, match="image_missing"):
        run(tmp_path, images, [item("a", "gone.jpg")])
    assert [p.name for p in tmp_path.iterdir()] == ["talk.json"]
    with pytest.raises(BadArgument, match="new or empty"):
        run(tmp_path, images, [item("a", None)], out=".")


def test_hostile_items_and_images_are_listed_and_the_others_are_imported(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    long = "x" * 240 + ".png"
    for name in ("a.png", "b.png", long):
        Image.new("RGB", (20, 20)).save(folder / name)
    os.mkfifo(folder / "pipe.png")
    talk = [{"from": "human", "value": "<image>\nWhich?"}, {"from": "gpt", "value": "Left."}]
    half = [talk[0], {"from": "gpt", "value": "\ud800"}]
    items = [{"id": name, "image": name, "conversations": talk} for name in ("a.png", "b.png", "pipe.png", long)]
    items += [
        {"id": "half", "image": "a.png", "conversations": half},
        {"id": "deep", "image": [[[]]], "conversations": talk},
    ]
    (tmp_path / "talks.jsonl").write_text("\n".join([*map(json.dumps, items), "[" * 100_000]))
    import_conversations(Conversations(tmp_path / "talks.jsonl", folder, "talks"), tmp_path / "out", workers=1)
    with (tmp_path / "out" / "dropped.csv").open(newline="") as file:
        dropped = {row["key"][:8]: row["reason"] for row in csv.DictReader(file)}
    assert {r.key for r in read_records(tmp_path / "out" / "records")} == {"a.png", "b.png"}
    assert dropped == {
        "pipe.png": "image_missing",
        long[:8]: "key_unusable",
        "half": "not_utf8",
        "deep": "not_an_item",
        "#7": "not_an_item",
    }


def test_a_file_whose_every_image_is_unreadable_is_an_error_that_names_the_list(tmp_path: Path, images: Path):
    with pytest.raises(BadArgument, match="image_unreadable"):
        run(tmp_path, images, [item("a", "broken.jpg"), item("b", "broken.jpg")])
    assert "image_unreadable" in (tmp_path / "curated" / "dropped.csv").read_text()


def test_the_same_command_again_is_finished_and_another_one_is_refused(tmp_path: Path, images: Path):
    out = run(tmp_path, images, [item("a", "deep/1.png")])
    before = (out / "manifest.json").read_bytes()
    assert run(tmp_path, images, [item("a", "deep/1.png")]) == out and (out / "manifest.json").read_bytes() == before
    with pytest.raises(CurationConflict, match="talk"):
        run(tmp_path, images, [item("a", "deep/2.png")])


def test_an_import_that_was_killed_goes_on(tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch):
    talk = [item(f"{n}", f"deep/{n}.png") for n in range(6)]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results, "write_records", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        run(tmp_path, images, talk, out="killed")
    assert not (tmp_path / "killed" / "manifest.json").exists()
    assert len(read_records(run(tmp_path, images, talk, out="killed") / "records")) == 6


def test_copies_of_one_photograph_are_in_one_split(tmp_path: Path):
    (tmp_path / "pictures").mkdir()
    for n in range(6):
        photograph(tmp_path / "pictures" / f"{n}.png", n)
        with Image.open(tmp_path / "pictures" / f"{n}.png") as image:
            image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(tmp_path / "pictures" / f"mirrored {n}.png")
    talk = [item(f"{kind}{n}", f"{kind}{n}.png") for n in range(6) for kind in ("", "mirrored ")]
    records = read_records(run(tmp_path, tmp_path / "pictures", talk, ratios=(0.5, 0.25, 0.25)) / "records")
    homes: dict[str, set[str]] = {}
    for record in records:
        homes.setdefault(record.key.removeprefix("mirrored "), set()).add(record.split)
    assert len(homes) == 6 and all(len(splits) == 1 for splits in homes.values())


def test_conversations_are_curated_beside_other_sources_in_every_language(tmp_path: Path, images: Path):
    talk = write(tmp_path, [item("a", "deep/1.png", "Which eye?", "Left.")])
    chinese = tmp_path / "chinese.json"
    chinese.write_text(json.dumps([item("a", "deep/1.png", "哪只眼睛？", "左眼。")]), encoding="utf-8")
    sources = [Folders.write(tmp_path / "raw", 8), Conversations(talk, images, "talk")]
    sources.append(Conversations(chinese, images, "talk_zh", language="zh"))
    tasks = [Conversation(), Conversation("zh"), Glaucoma()]
    curate(sources, tasks, tmp_path / "out", balance=[], workers=1, progress=False)
    records = read_records(tmp_path / "out" / "records")
    said = {(r.source, r.language): r.answer for r in records if r.task == "conversation"}
    assert said == {("talk", "en"): "Left.", ("talk_zh", "zh"): "左眼。"}
    assert len({r.split for r in records if r.task == "conversation"}) == 1  # one photograph, in two sources
    assert sum(r.task == "glaucoma" for r in records) == 8
