import numpy as np
from PIL import Image

from lmod_train.report.report import write_report
from lmod_train.report.sections.subsets import Subsets
from tests.report.make import run


def test_each_kind_once_as_png_and_svg(three):
    names = {p.name for p in (three[1] / "figures").iterdir()}
    kinds = {"scores", "outcomes", "error_types", "modalities", "confusion-four_way", "confusion-glaucoma"}
    kinds |= {"examples-four_way", "examples-glaucoma", "examples-anatomy"}
    assert names == {f"{k}.{e}" for k in kinds for e in ("png", "svg", "csv")}
    assert {p.name for p in three[1].iterdir()} == {
        *("scores.csv", "tables.md", "index.html", "files.txt", "tables", "figures", "data", "images", "pages")
    }


def test_a_picture_shows_something_in_the_colours_of_the_runs(three):
    pixels = np.asarray(Image.open(three[1] / "figures" / "scores.png").convert("RGB")).reshape(-1, 3)
    for colour in ((0, 0x72, 0xB2), (0xD5, 0x5E, 0), (0, 0x9E, 0x73)):
        assert np.sum(np.all(pixels == colour, axis=1)) > 100


def test_three_modalities_give_a_radar(tmp_path):
    one = run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT", "SLO"), model="costs $5 and $6")
    write_report([one], tmp_path / "out", sections=[Subsets()])
    assert (tmp_path / "out" / "figures" / "radar.svg").exists()
    assert not (tmp_path / "out" / "figures" / "modalities.svg").exists()
    assert np.all(np.asarray(Image.open(tmp_path / "out" / "figures" / "radar.png"))[[0, -1]] == 255), (
        "nothing is cut off"
    )
