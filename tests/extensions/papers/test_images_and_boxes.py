"""Images and boxes of a curated folder with known numbers, beside those of the papers."""

import random
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Table
from lmod_train.core.types import Box, Patient, Region
from lmod_train.extensions.papers.sections import DRAWN_IMAGES_AND_BOXES, ImagesAndBoxes
from lmod_train.report.results import Results
from tests.scoring.make import record

BOXES = {("CFP", "idrid"): [2, 1], ("CFP", "refuge"): [2, 2, 2], ("OCT", "oimhs"): [3]}


def curated(folder, phantom=False):
    made = []
    for (modality, source), several in BOXES.items():
        for i, n in enumerate(several):
            regions = tuple(Region("optic disc", Box(0, 0, 9, 9), k) for k in range(1, n + 1))
            of = {"source": source, "modality": modality, "image": f"{source}{i}"}
            made.append(replace(record(str(i), task="anatomy", regions=regions, **of), phantom=phantom))
    (folder / "records").mkdir(parents=True)
    write_records(folder / "records" / "anatomy.parquet", made)
    write_json(folder / "manifest.json", {"schema_version": 4, "protocol": "mine"})
    return folder


def shown(section, *folders):
    results = Results((), {}, {str(i): folder for i, folder in enumerate(folders)})
    parts = list(section.parts(results))
    found = [p for p in parts if isinstance(p, Table)]
    rows = [{row[:2]: row[2:] for row in part.rows} for part in found]
    return rows, found, parts


@pytest.mark.parametrize(("paper", "table"), [("lmod_naacl", "LMOD, Table 3"), ("lmod_plus", "LMOD+, Table 2")])
def test_numbers_by_source_and_modality_beside_the_printed(tmp_path, paper, table):
    ((rows, *_), (part, *_), (text, *_)) = shown(
        ImagesAndBoxes(paper), curated(tmp_path / "c"), tmp_path / "gone", None
    )
    assert table in text.text and part.title == "Protocol mine"
    assert rows["CFP", "idrid"] == (2, 1.5, 516, -514, None) and rows["CFP", "refuge"] == (3, 2.0, 1200, -1197, None)
    assert rows["CFP", "all"] == (5, 1.8, 3386, -3381, "1.6") and rows["OCT", "all"] == (1, 3.0, 3859, -3858, "2.4")
    assert rows["SLO", "fairseg"] == (0, None, 10000, -10000, None)
    assert rows["all", "all"] == (6, 2.0, 21933, -21927, None)
    assert [*rows][-1] == ("all", "all") and [*rows].index(("CFP", "all")) > [*rows].index(("CFP", "refuge"))


def test_every_source_of_the_papers_is_printed(tmp_path):
    for paper in ("lmod_naacl", "lmod_v1", "lmod_plus"):
        ((rows, *_), _, _) = shown(ImagesAndBoxes(paper), curated(tmp_path / paper))
        assert sum(row[2] for (_, source), row in rows.items() if source != "all") == 21933
        assert sum(row[2] for (kind, source), row in rows.items() if source == "all" and kind != "all") == 21933


def test_drawn_images_stand_beside_no_printed_number(tmp_path):
    ((rows,), (part,), (text, _)) = shown(ImagesAndBoxes(), curated(tmp_path / "c", phantom=True))
    assert rows["all", "all"] == (6, 2.0) and len(part.columns) == 4 and text.text == DRAWN_IMAGES_AND_BOXES


def test_folders_each_have_a_table_and_a_folder_without_boxes_none(tmp_path):
    one, two = curated(tmp_path / "a"), curated(tmp_path / "b")
    _, found, _ = shown(ImagesAndBoxes(), one, two, one)
    assert [part.name for part in found] == ["images_and_boxes-1", "images_and_boxes-2"]
    assert shown(ImagesAndBoxes(), tmp_path / "gone")[2] == []


def test_an_unknown_paper_is_named():
    with pytest.raises(BadArgument, match="paper='ophthalwechat'"):
        ImagesAndBoxes("ophthalwechat")


@pytest.mark.parametrize("seed", range(5))
def test_shares_of_modalities_and_sexes_are_those_of_all_records(tmp_path, seed):
    chance = random.Random(seed)
    folder = curated(tmp_path / "c")
    people = {
        f"p{i}": (chance.choice(("CFP", "OCT", "SLO")), chance.choice(("female", "male", None))) for i in range(40)
    }
    made = []
    for i in range(90):
        group = chance.choice(list(people))
        modality, sex = people[group]
        one = record(str(i), task="sex", group=group, modality=modality, image=f"sex{i % 60}-{modality}")
        made.append(replace(one, patient=Patient(sex=sex)))
    write_records(folder / "records" / "sex.parquet", made)
    (_, shares), _, _ = shown(ImagesAndBoxes("lmod_plus"), folder)
    seen = {r.group for r in made}
    women = [g for g in seen if people[g][1] == "female"]
    known = [g for g in seen if people[g][1]]
    assert shares["patients", "female"] == (len(women), len(women) / len(known), 0.606)
    images = {(r.modality, name) for r in made for name in r.image_plain}
    images |= {(m, f"{s}{i}") for (m, s), several in BOXES.items() for i in range(len(several))}
    for modality, printed in (("CFP", 0.432), ("SLO", 0.306), ("OCT", 0.118), ("LP", 0.075), ("SS", 0.069)):
        own = sum(m == modality for m, _ in images)
        assert shares["images", modality] == (own, pytest.approx(own / len(images)), pytest.approx(printed))
    assert len(shown(ImagesAndBoxes("lmod_plus"), curated(tmp_path / "drawn", phantom=True))[0]) == 1


def test_images_of_chains_stand_beside_those_of_x_pcr(tmp_path):
    folder = curated(tmp_path / "c")
    made = [record(f"{i}-{stage}", task="chain", modality=m, source="xpcr", image=f"x{i}")
            for i, m in enumerate(["CFP"] * 3 + ["FFA"]) for stage in ("IQA", "DD")]  # fmt: skip
    write_records(folder / "records" / "chain.parquet", made)
    ((rows,), _, (text, _)) = shown(ImagesAndBoxes("xpcr"), folder)
    assert "X-PCR" in text.text and rows["CFP", "xpcr"][0] == rows["CFP", "all"][0] == 3
    assert rows["CFP", "all"][2:4] == (6840, 3 - 6840) and rows["FFA", "all"][2:4] == (3356, 1 - 3356)
    assert rows["RetCam", "all"][2] == 5403
    assert rows["all", "all"][2:] == (None, None, None), "they do not sum to the printed total"
