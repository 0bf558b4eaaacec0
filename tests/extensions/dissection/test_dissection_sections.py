"""The sentence, the staircase and the tables of a dissected run, against what was planted in its answers."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from lmod_train.core.tables import Table
from lmod_train.core.types import Unparsed
from lmod_train.extensions.dissection.scores import (
    ABSENT,
    BEST,
    CEILING,
    CEILINGS,
    CHAIN,
    CORRECTED,
    LAST,
    LIKELIHOOD,
    PROJECTOR,
    READ,
    REPLY,
    SHORTCUTS,
    TOWER,
)
from lmod_train.extensions.dissection.sections import WhereItIsLost
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.report.contents import Figure, Remark
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import Scores
from tests.report.make import classify

PLACES = (TOWER, "tower.4", PROJECTOR, "image.1", "decision.1", LAST, READ, BEST, CORRECTED, LIKELIHOOD, REPLY)
N = 400


def dissected(folder, wrong, ceiling=None, supervised=CEILING, left=0, exchanges=(), n=N, shortcuts=False):
    """A run whose places are wrong on the first records of each class: place -> share, 0 where not given."""
    run = classify(folder, 1.5, n=n)
    items = read_results([run]).items["cnn"]["glaucoma"]
    truth = np.array([item.choices.index(item.truth) for item in items])
    tables = []
    for place in (*(SHORTCUTS if shortcuts else ()), *PLACES, *([supervised] if ceiling is not None else [])):
        read = truth.copy()
        for c in (0, 1):
            own = np.flatnonzero(truth == c)
            off = own[: round(len(own) * wrong.get(place, 0.0))]
            read[off] = 1 - c
        if place == supervised:
            read[ceiling:] = ABSENT
        given = None if place in (REPLY, supervised) else np.where(np.eye(2)[read] > 0, 0.8, 0.2).tolist()
        table = {"id": [i.id for i in items], "group": [i.group for i in items], "truth": truth, "place": place}
        tables.append(pd.DataFrame({**table, "read": read, "probabilities": given or [None] * len(items)}))
    own = Dissected(run)
    own.keep(own.answers, pd.concat(tables))
    controls = [("best layer", i, "decision.1") for i in range(3)] + [
        ("permuted labels", i, 0.5 + i / 50) for i in (0, 1)
    ]
    own.keep(own.controls, pd.DataFrame(controls, columns=["control", "number", "value"]))
    own.list_left_out({f"glaucoma/left/{i}": "it shows 2 images, not one" for i in range(left)}, 0)
    if exchanges:
        rows = [(items[i].id, items[i + 2].id, *row) for i, row in enumerate(exchanges)]
        table = pd.DataFrame(rows, columns=["id", "partner", "layer", "alike", "followed"])
        own.keep(own.interchange, table.assign(of="x"))
    return run


def parts(*runs):
    found = list(WhereItIsLost().parts(read_results(list(runs))))
    tables = {p.name: [dict(zip([c.head for c in p.columns], row, strict=True)) for row in p.rows]
              for p in found if isinstance(p, Table)}  # fmt: skip
    return found, tables


BEHIND = dict.fromkeys((LIKELIHOOD, REPLY), 0.4)


def test_a_planted_prior_is_named_with_what_is_read_at_each_place(tmp_path):
    run = dissected(tmp_path / "cnn", BEHIND, left=3)
    found, tables = parts(run)
    (said,) = [p.text for p in found if isinstance(p, Remark)]
    assert said.startswith("cnn: glaucoma: 1.00 can be read from the tower, 1.00 behind the projector")
    assert (
        "lost to the prior, or an earlier fault that acts like one (-0.40" in said
        and "at the best layer (decision, layer 1)" in said
    )
    assert "GLAUCOMA falls most, from 1.00 in the tower to 0.60 in the reply" in said
    assert "by `--reference RUN`" in said and "correct the prior" not in said
    assert said.endswith("images by `--pairs` (3 records could not be dissected)")
    (figure,) = [p for p in found if isinstance(p, Figure)]
    shown = [row[1] for row in figure.table.rows]
    assert set(shown) == set(PLACES) and [p for p in shown if p in CHAIN] == list(CHAIN[1:]), "as they are passed"
    stairs = {row[1]: row for row in figure.table.rows}
    assert list(stairs[TOWER][2:]) == [N, 1.0, stairs[TOWER][4], 0.5, None, 0.52]
    steps = {(row["from"], row["to"]): row for row in tables["lost_steps-glaucoma"]}
    assert (
        len(steps) == 8
        and steps[CEILING, TOWER]["change"] is None
        and steps[CORRECTED, LIKELIHOOD]["change"] == pytest.approx(-0.4, abs=0.01)
    )
    assert all(end < -0.3 for end in steps[CORRECTED, LIKELIHOOD]["95 % interval"])
    rows = pd.read_parquet(Dissected(run).answers)
    for row in tables["lost_places-glaucoma"]:
        place = {"tower, layer 4": "tower.4", "image tokens, layer 1": "image.1", "decision, layer 1": "decision.1"}
        own = rows[rows["place"] == place.get(row["place"], row["place"])]
        assert row["score"] == pytest.approx(balanced_accuracy_score(own["truth"], own["read"])) and row["n"] == N
        if own["probabilities"].notna().all():
            second = np.stack(own["probabilities"].tolist())[:, 1]
            assert row["AUROC"] == pytest.approx(roc_auc_score(own["truth"], second))
        else:
            assert row["AUROC"] is None
    assert "GLAUCOMA 0.60, NON-GLAUCOMA 0.60" in {
        row["recalls of the classes"] for row in tables["lost_places-glaucoma"]
    }


@pytest.mark.parametrize(("loops", "others"), [(239, 29), (239, 0), (20, 0), (19, 0), (0, 0)])
def test_replies_that_were_not_read_are_said_before_any_probe(tmp_path, loops, others):
    results = read_results([dissected(tmp_path / "cnn", BEHIND)])
    own = results.items["cnn"]["glaucoma"]
    reasons = ["repetition"] * loops + ["refused"] * others
    own[:] = [replace(i, answer=Unparsed(why)) for i, why in zip(own, reasons, strict=False)] + own[len(reasons) :]
    (said,) = WhereItIsLost.sentences(results)
    rest = f", {others} for other reasons" if others else ""
    told = f"glaucoma: {loops} of 400 replies were not read (the reply repeats itself){rest}: look at these first; 1.00"
    assert said.startswith(told if loops >= 20 else "glaucoma: 1.00 can be read from the tower")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (["decision.1"] * 3, "(decision, layer 1)"),
        (["decision.4", "image.12", "decision.8"], "(decision, layer 8, median of 3 folds, layer 4 to layer 12)"),
        (["decision.10", "image.2"], "(image tokens, layer 2, median of 2 folds, layer 2 to layer 10)"),
        ([LAST, "image.8", LAST], "(last layer, median of 3 folds, layer 8 to last layer)"),
        (["image.4", "decision.4"], "(image tokens, layer 4)"),
        ([LAST], "(last layer)"),
        ([], "(best layer)"),
    ],
)
def test_the_best_layer_is_the_median_of_the_folds_with_their_spread(tmp_path, chosen, said):
    run = dissected(tmp_path / "cnn", {})
    rows = [("best layer", i, place) for i, place in enumerate(chosen)]
    Dissected(run).keep(Dissected(run).controls, pd.DataFrame(rows, columns=["control", "number", "value"]))
    assert f"at the best layer {said}" in WhereItIsLost.sentences(read_results([run]))[0]


@pytest.mark.parametrize("place", CEILINGS)
def test_a_ceiling_of_some_records_is_scored_on_these(tmp_path, place):
    run = dissected(tmp_path / "cnn", {}, ceiling=N // 2, supervised=place)
    found, tables = parts(run)
    row = next(row for row in tables["lost_places-glaucoma"] if row["place"] == place)
    assert (row["n"], row["score"]) == (N // 2, 1.0) and row[
        "recalls of the classes"
    ] == "GLAUCOMA 1.00, NON-GLAUCOMA 1.00"
    step = tables["lost_steps-glaucoma"][0]
    assert (step["from"], step["to"], step["n"], step["change"]) == (place, TOWER, N // 2, 0)
    assert (figure := next(p for p in found if isinstance(p, Figure))).table.rows[0][1] == place, figure


def test_nothing_is_lost_where_nothing_is_lost_and_not_where_nothing_could_be_read(tmp_path):
    run = dissected(tmp_path / "a" / "cnn", {})
    (said,) = WhereItIsLost.sentences(read_results([run]))
    assert said.endswith(": no loss is found (no step loses 5 points or more of the mean recall)")
    blind = dissected(tmp_path / "b" / "cnn", dict.fromkeys(PLACES, 0.5))
    (said,) = WhereItIsLost.sentences(read_results([blind]))
    assert "cannot be told (the probe of the tower is not shown to be above chance)" in said


@pytest.mark.parametrize(
    ("follows", "told"), [(True, "lost to the prior (-0.40"), (False, "lost in comprehension (-0.40")]
)
def test_a_reference_tells_the_prior_from_an_image_that_is_not_used(tmp_path, follows, told):
    """Every layer in which the reference is followed is asked, not the first one alone."""
    alike = [(layer, True, True) for layer in (0, 1) for _ in range(40)]
    rows = [(layer, False, layer == 0 or follows) for layer in (0, 1) for _ in range(40)]
    run = dissected(tmp_path / "cnn", BEHIND, exchanges=alike + rows)
    own = Dissected(run)
    other = [(i, *row) for i, row in enumerate([*alike, *((0, False, True), (1, False, True)) * 40])]
    own.keep(own.reference, pd.DataFrame(other, columns=["group", "layer", "alike", "followed"]))
    found, tables = parts(run)
    said = found[0].text
    assert told in said and ("tune, or correct the prior" in said) == follows == ("tune the language model" not in said)
    shown = [(row["model"], row["layers in front"], row["followed"]) for row in tables["lost_interchange-glaucoma"]]
    ours = [("cnn", 0, 1.0), ("cnn", 1, float(follows))]
    assert shown == [*ours, ("cnn: reference", 0, 1.0), ("cnn: reference", 1, 1.0)]


@pytest.mark.parametrize(("reply", "told"), [(0.4, "lost to the prior ("), (0.6, "that acts like one (")])
def test_replies_that_lose_more_than_the_likelihoods_leave_the_prior_open(tmp_path, reply, told):
    """A damaged language model shifts its likelihoods and cannot reply: the shift alone is no prior."""
    used = [(0, False, True)] * 40 + [(0, True, True)] * 40
    run = dissected(tmp_path / "cnn", {LIKELIHOOD: 0.4, REPLY: reply}, exchanges=used)
    other = [(i, *row) for i, row in enumerate(used)]
    own = Dissected(run)
    own.keep(own.reference, pd.DataFrame(other, columns=["group", "layer", "alike", "followed"]))
    (said,) = WhereItIsLost.sentences(read_results([run]))
    assert told in said and ("look at the replies first; else compare" in said) == (reply > 0.4)


def test_exchanged_images_are_followed_by_layer(tmp_path):
    rows = [(0, False, True)] * 40 + [(0, True, True)] * 40
    rows += [(12, False, True), (12, False, False), (2, True, False), (2, False, True), (2, True, True)]
    found, tables = parts(dissected(tmp_path / "cnn", {}, exchanges=rows))
    heads = ("layers in front", "pairs that differ", "followed", "pairs alike", "stayed", "used")
    shown = [[row[c] for c in heads] for row in tables["lost_interchange-glaucoma"]]
    assert shown == [[0, 40, 1.0, 40, 1.0, 1.0], [2, 1, 1.0, 2, 0.5, 0.5], [12, 2, 0.5, 0, None, None]]
    said = [p.text for p in found if isinstance(p, Remark)]
    assert "in front of the first layer (+1.00 used; in front of layer 2 not shown, +0.50)" in said[1]


@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_a_shortcut_as_good_as_the_tower_is_said_and_drawn(tmp_path, shortcut):
    other = {p: 0.4 for p in SHORTCUTS if p != shortcut}
    found, _ = parts(dissected(tmp_path / "cnn", other | {shortcut: 0.04}, shortcuts=True))
    assert f"The {shortcut} alone gives 0.96" not in found[0].text
    (drawn,) = [p.table for p in found if isinstance(p, Figure)]
    at = [c.head for c in drawn.columns].index("floor")
    assert {round(row[at], 2) for row in drawn.rows} == {0.96}
    found, _ = parts(dissected(tmp_path / "poor" / "cnn", other | {TOWER: 0.03, shortcut: 0.04}, shortcuts=True))
    assert f". The {shortcut} alone gives 0.96: the tower is not shown to read more" in found[0].text


def test_no_part_without_a_dissected_run_and_one_beside_others(tmp_path):
    plain = classify(tmp_path / "plain", 1.0, n=40, model="other")
    assert parts(plain)[0] == [] and WhereItIsLost.sentences(read_results([plain])) == []
    found, tables = parts(plain, dissected(tmp_path / "cnn", {}))
    assert [p.text.split(":")[0] for p in found if isinstance(p, Remark)] == ["cnn"] and len(tables) == 2


@pytest.mark.parametrize("n", [100, N])
def test_the_page_opens_with_the_sentence_and_the_staircase(tmp_path, n):
    page = write_report(
        [dissected(tmp_path / "cnn", BEHIND, n=n)], tmp_path / "out", sections=[WhereItIsLost(), Scores()]
    )
    opened = page.read_text().partition('<section id="scores"')[2]
    first, second = re.findall(r'<p class="(found|finding)" dir="auto".*?>(.*?)</p>', opened)[:2]
    assert first[0] == "finding" and " can be read from the tower, " in first[1], "the page opens with what was found"
    assert second[0] == "found" and second[1].startswith("Glaucoma: ")
    said, drawn, scores = (opened.index(text) for text in (first[1], "figures/lost-glaucoma.png", second[1]))
    assert said < drawn < scores and "<details" not in opened[:drawn], "before scores and examples, not folded"
    assert '<details id="chapter-dissection" class="chapter" open>' in opened and opened.count(" open>") == 1
    text = (tmp_path / "out" / "tables.md").read_text()
    assert page.exists() and "Where is it lost?" in text and "lost to the prior" in text
    assert (tmp_path / "out" / "figures" / "lost-glaucoma.png").exists()
