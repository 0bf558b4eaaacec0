import csv
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.extensions.packs.leaderboard import leaderboard, places_of
from lmod_train.extensions.packs.pack import read_pack, write_pack
from lmod_train.extensions.packs.packing import pack
from lmod_train.extensions.packs.verifying import Verified, _remarks
from lmod_train.tasks.glaucoma import Glaucoma
from tests.report import packs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Packs of a good and a perfect run, and a tampered one."""
    root = tmp_path_factory.mktemp("packs")
    place = packs.curated(root / "curated")
    pack(packs.run(root / "good", place), root / "good.lmodpack")
    pack(packs.run(root / "perfect", place, reply=lambda r: r.answer), root / "perfect.lmodpack")
    known = read_pack(root / "good.lmodpack")
    write_pack(root / "raised.lmodpack", replace(known, scores=tuple(replace(s, value=1.0) for s in known.scores)))
    return root


def rows(file):
    with file.open(newline="", encoding="utf-8-sig") as opened:
        return list(csv.DictReader(opened))


def test_packs_that_hold_are_ordered_and_others_listed(made, tmp_path):
    files = [made / f"{name}.lmodpack" for name in ("good", "raised", "perfect")]
    lines = leaderboard(files, made / "curated", tmp_path / "out")
    held = rows(tmp_path / "out" / "leaderboard.csv")
    assert [held[0][name] for name in ("run", "score", "n", "records")] == ["perfect", "1.0", "48", "48"]
    assert [r["pack"] for r in held] == ["perfect.lmodpack", "good.lmodpack"]
    assert {r["pack"] for r in rows(tmp_path / "out" / "refused.csv")} == {"raised.lmodpack"}
    assert "verified: 2 of 3 packs" in lines and [line for line in lines if line.startswith("refused: raised.lmodpack")]
    text = (tmp_path / "out" / "leaderboard.md").read_text()
    assert "## Refused packs" in text and "raised.lmodpack" in text


def test_names_of_a_pack_do_nothing_in_tables(made, tmp_path):
    lure = '=HYPERLINK("http://x")<script>|\x1b[2J' + "x" * 500
    write_pack(tmp_path / "x.lmodpack", replace(read_pack(made / "good.lmodpack"), model=lure, run=lure))
    leaderboard([tmp_path / "x.lmodpack"], made / "curated", tmp_path / "out")
    text = (tmp_path / "out" / "leaderboard.md").read_text()
    assert "<script" not in text and "\x1b" not in text and "x" * 100 not in text
    assert rows(tmp_path / "out" / "leaderboard.csv")[0]["model"].startswith("'=HYPERLINK")


def test_no_pack_that_holds_is_an_error_after_the_list_is_written(made, tmp_path):
    with pytest.raises(BadArgument, match=r"raised.lmodpack: .*scores differ"):
        leaderboard([made / "raised.lmodpack"], made / "curated", tmp_path / "out")
    assert rows(tmp_path / "out" / "refused.csv")


def test_a_folder_of_something_else_and_a_pack_named_twice_are_refused(made, tmp_path):
    with pytest.raises(BadArgument, match="--out"):
        leaderboard([made / "good.lmodpack"], made / "curated", made / "curated")
    with pytest.raises(BadArgument, match="name each once"):
        leaderboard([made / "good.lmodpack"] * 2, made / "curated", tmp_path / "out")


@pytest.mark.parametrize("status", ["truncated", "refused"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.06, 1.0])
def test_many_answers_that_were_lost_in_another_way_than_unparsed_are_remarked_on(status, share):
    scores = (Score("g", "all", "accuracy_strict", 100, 0.0), Score("g", "all", f"share_{status}", 100, share))
    task = SimpleNamespace(name="g")
    pack = SimpleNamespace(model="m", run="r", tasks=(task,), predictions=())
    held = Verified("a.lmodpack", pack, scores, {"g": 100}, {"g": 100}, {"g": ()})
    ((*_, remarks),) = places_of([held]).rows
    assert remarks == (f"{100 * share:.1f} % {status}" if share > 0.05 else "")


@pytest.mark.parametrize("way", [{"shots": "2"}, {"wording": "1"}, {"system": "own"}, {"order": "3"}])
def test_packs_that_were_asked_otherwise_stand_below_the_others_and_say_how(way):
    def held(name, value, own):
        asked = tuple(SimpleNamespace(task="glaucoma", id=str(i), way=own, step=0) for i in range(2))
        task = Glaucoma()
        pack = SimpleNamespace(model="m", run="r", tasks=(task,), predictions=asked, settings=())
        told = {"glaucoma": tuple(_remarks(task, pack, SimpleNamespace(settings={}), 0))}
        return Verified(
            name, pack, (Score("glaucoma", "all", "accuracy_strict", 2, value),), {"glaucoma": 2}, {"glaucoma": 2}, told
        )

    found = places_of([held("helped", 1.0, way), held("plain", 0.5, {"repeat": "1"}), held("best", 0.6, {})])
    ((factor, value),) = way.items()
    assert [row[3] for row in found.rows] == ["best", "plain", "helped"]
    assert [row[-1] for row in found.rows][:2] == ["", ""]
    assert found.rows[2][-1] == f"2 of 2 requests were asked otherwise than curated: {factor} {value}"
