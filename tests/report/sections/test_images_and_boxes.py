"""Images and boxes of a curated folder with known numbers, beside those of the papers."""

from dataclasses import replace

import pytest

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.report.contents import Table
from lmod_train.report.results import Results
from lmod_train.report.sections.images_and_boxes import DRAWN, ImagesAndBoxes
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
    write_json(folder / "manifest.json", {"schema_version": 2, "protocol": "mine"})
    return folder


def shown(section, *folders):
    results = Results((), {}, {str(i): folder for i, folder in enumerate(folders)})
    parts = list(section.parts(results))
    found = [p for p in parts if isinstance(p, Table)]
    rows = [{row[:2]: row[2:] for row in part.rows} for part in found]
    return rows, found, parts


@pytest.mark.parametrize(("paper", "table"), [("lmod_naacl", "LMOD, Table 3"), ("lmod_plus", "LMOD+, Table 2")])
def test_numbers_by_source_and_modality_beside_the_printed(tmp_path, paper, table):
    ((rows,), (part,), (text, _)) = shown(ImagesAndBoxes(paper), curated(tmp_path / "c"), tmp_path / "gone", None)
    assert table in text.text and part.title == "Protocol mine"
    assert rows["CFP", "idrid"] == (2, 1.5, 516, -514, None) and rows["CFP", "refuge"] == (3, 2.0, 1200, -1197, None)
    assert rows["CFP", "all"] == (5, 1.8, 3386, -3381, "1.6") and rows["OCT", "all"] == (1, 3.0, 3859, -3858, "2.4")
    assert rows["SLO", "fairseg"] == (0, None, 10000, -10000, None)
    assert rows["all", "all"] == (6, 2.0, 21933, -21927, None)
    assert [*rows][-1] == ("all", "all") and [*rows].index(("CFP", "all")) > [*rows].index(("CFP", "refuge"))


def test_every_source_of_the_papers_is_printed(tmp_path):
    for paper in ("lmod_naacl", "lmod_v1", "lmod_plus"):
        ((rows,), _, _) = shown(ImagesAndBoxes(paper), curated(tmp_path / paper))
        assert sum(row[2] for (_, source), row in rows.items() if source != "all") == 21933
        assert sum(row[2] for (kind, source), row in rows.items() if source == "all" and kind != "all") == 21933


def test_drawn_images_stand_beside_no_printed_number(tmp_path):
    ((rows,), (part,), (text, _)) = shown(ImagesAndBoxes(), curated(tmp_path / "c", phantom=True))
    assert rows["all", "all"] == (6, 2.0) and len(part.columns) == 4 and text.text == DRAWN


def test_folders_each_have_a_table_and_a_folder_without_boxes_none(tmp_path):
    one, two = curated(tmp_path / "a"), curated(tmp_path / "b")
    _, found, _ = shown(ImagesAndBoxes(), one, two, one)
    assert [part.name for part in found] == ["images_and_boxes-1", "images_and_boxes-2"]
    assert shown(ImagesAndBoxes(), tmp_path / "gone")[2] == []


def test_an_unknown_paper_is_named():
    with pytest.raises(BadArgument, match="paper='xpcr'"):
        ImagesAndBoxes("xpcr")
