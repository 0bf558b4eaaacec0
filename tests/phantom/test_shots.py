import json
import os

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom import shots as module
from lmod_train.phantom.fundus import cup_mask, disc_mask, draw_eye
from lmod_train.phantom.shots import FEW, Shot, draw_all, eye_seed, note, take


def shots(folder, n=3):
    return [
        Shot(draw_eye(eye_seed("x", 0, i), "glaucoma"), folder / "a" / f"{i}.jpg", folder / "b" / f"{i}.png")
        for i in range(n)
    ]


def test_seeds_of_sources_seeds_and_indices_are_apart():
    seeds = [eye_seed(s, seed, i) for s in ("refuge", "eye_diseases") for seed in range(5) for i in range(100)]
    assert len(set(seeds)) == 1000 and min(seeds) >= 0


def test_two_workers_write_what_one_process_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FEW", 0)
    take(shots(tmp_path / "none"), 48, "x", workers=0)
    take(shots(tmp_path / "two"), 48, "x", workers=2)
    files = sorted(p.relative_to(tmp_path / "none") for p in (tmp_path / "none").rglob("*") if p.is_file())
    assert len(files) == 6 == sum(p.is_file() for p in (tmp_path / "two").rglob("*"))
    assert all((tmp_path / "none" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)


def write_process(files, _):
    files[0].write_text(str(os.getpid()))


def test_a_few_drawings_start_no_process_and_more_do(tmp_path):
    for n, is_here in ((FEW, True), (FEW + 1, False)):
        files = [(tmp_path / str(n) / str(i),) for i in range(n)]
        draw_all(files, range(n), write_process, "x")
        assert all((file.read_text() == str(os.getpid())) == is_here for (file,) in files)


def test_masks_hold_the_three_codes_where_the_truth_has_them(tmp_path):
    shot = Shot(draw_eye(5, "glaucoma"), tmp_path / "x.jpg", tmp_path / "x.bmp", (255, 128, 0))
    take([shot], 64, "x", workers=0)
    codes, eye = np.asarray(Image.open(shot.mask)), draw_eye(5, "glaucoma")
    assert set(np.unique(codes)) == {0, 128, 255}
    assert ((codes < 255) == disc_mask(eye, 64)).all() and ((codes == 0) == cup_mask(eye, 64)).all()


def test_a_restart_keeps_complete_files_and_writes_the_missing_ones(tmp_path):
    all_shots = shots(tmp_path)
    take(all_shots, 48, "x", workers=0)
    kept, lost, maskless = all_shots
    kept.photograph.write_bytes(b"kept")
    again = (lost.photograph.read_bytes(), maskless.mask.read_bytes())
    lost.photograph.unlink()
    maskless.mask.unlink()
    take(all_shots, 48, "x", workers=0)
    assert kept.photograph.read_bytes() == b"kept"
    assert (lost.photograph.read_bytes(), maskless.mask.read_bytes()) == again


def test_a_folder_of_other_phantoms_is_refused(tmp_path):
    note(tmp_path / "set", {"n": 4, "seed": 0})
    note(tmp_path / "set", {"n": 4, "seed": 0})
    assert json.loads((tmp_path / "set" / "phantom.json").read_text()) == {"n": 4, "seed": 0}
    with pytest.raises(BadArgument, match=r"'seed': 1.*'seed': 0.*\n.*new folder"):
        note(tmp_path / "set", {"n": 4, "seed": 1})


def test_an_empty_list_is_accepted(tmp_path):
    take([], 48, "x")
    assert list(tmp_path.iterdir()) == []
