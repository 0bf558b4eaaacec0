"""Files of devices are pictures with side and scale, and nothing of the person leaves them."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.csv_files import read_csv
from lmod_train.core.types import Record
from lmod_train.data.cells import devices
from lmod_train.data.curation.manifest_files import read_dropped

SECRET = ("Lovelace", "SECRET77", "18151210")


def grey(n: int) -> int:
    return 30 + 10 * n


def write_dicom(file: Path, frames: int, seed: int, side: str = "L") -> None:
    pydicom = pytest.importorskip("pydicom")
    dataset = pydicom.Dataset()
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    dataset.SOPClassUID, dataset.SOPInstanceUID = pydicom.uid.SecondaryCaptureImageStorage, pydicom.uid.generate_uid()
    dataset.PatientName, dataset.PatientID, dataset.PatientBirthDate = SECRET
    dataset.ImageLaterality, dataset.PixelSpacing = side, [0.0035, 0.0117]
    dataset.Rows, dataset.Columns, dataset.NumberOfFrames = 40, 60, frames
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 8, 8, 7, 0
    dataset.PixelData = np.stack([picture(n, seed) for n in range(1, frames + 1)]).tobytes()
    dataset.save_as(file, enforce_file_format=True)


def picture(n: int, seed: int) -> Any:
    noise = np.random.default_rng(seed).choice([-20, 20], (4, 6)) + grey(n)
    return np.kron(noise, np.ones((10, 10))).astype(np.uint8)


def bright(seed: int) -> Any:
    return np.kron(np.random.default_rng(seed).choice([190, 250], (3, 3)), np.ones((10, 10))).astype(np.uint8)


def clinic(folder: Path, names: Sequence[str]) -> list[str]:
    (folder / "P").mkdir(exist_ok=True)
    rows = [[name, ("normal", "glaucoma", "cataract")[i % 3]] for i, name in enumerate(names)]
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["image", "diagnosis"], *rows])
    return ["curate", "--table", str(folder / "t.csv"), "--images", str(folder / "P"), "--modality", "OCT",
            "--workers", "1", "--out", str(folder / "OUT")]  # fmt: skip


def shown(out: Path) -> dict[str, tuple[Record, float]]:
    records = [r for r in read_records(out / "records") if r.task == "diagnosis"]
    return {r.key: (r, float(np.asarray(Image.open(out / r.image[0]).convert("L")).mean())) for r in records}


def check_nothing_leaves(out: Path, printed: str) -> None:
    written = b"".join(file.read_bytes() for file in out.rglob("*") if file.is_file()) + printed.encode()
    for word in SECRET:
        assert word.encode() not in written


@pytest.mark.parametrize(("page", "expected"), [("middle", {"#": 2}), ("all", {"#p1": 1, "#p2": 2, "#p3": 3})])
def test_frames_of_dicom_are_pages_with_side_and_scale(tmp_path: Path, capfd, page: str, expected: dict[str, int]):
    command = clinic(tmp_path, [f"s{i:02}.dcm" for i in range(12)])
    for i in range(12):
        write_dicom(tmp_path / "P" / f"s{i:02}.dcm", 3, i)
    assert cli.main([*command, "--page", page]) == 0
    found = shown(tmp_path / "OUT")
    assert found.keys() == {f"s{i:02}{part.removesuffix('#')}" for i in range(12) for part in expected}
    for key, (record, mean) in found.items():
        assert abs(mean - grey(expected[key[3:] or "#"])) < 12 and record.patient.laterality == "left"
    rows = read_csv(tmp_path / "OUT" / "scans.csv")
    assert len(rows) == 12 * len(expected)
    assert {(r["side"], r["x_micrometres"], r["y_micrometres"]) for r in rows} == {("left", "11.7", "3.5")}
    assert not (tmp_path / "OUT" / devices.FOLDER).exists()
    out, err = capfd.readouterr()
    check_nothing_leaves(tmp_path / "OUT", out + err)


def test_a_volume_is_not_read_unless_a_page_is_named(tmp_path: Path, capsys):
    command = clinic(tmp_path, [f"s{i:02}.dcm" for i in range(12)])
    for i in range(12):
        write_dicom(tmp_path / "P" / f"s{i:02}.dcm", 3 if i == 4 else 1, i)
    assert cli.main(command) == 0
    lines = {d.key: d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "several_pictures"}
    assert lines == {"s04": "3 pictures in one file, expected one"}
    assert "`--page middle`" in capsys.readouterr().out


def test_a_damaged_file_is_listed_without_what_it_says(tmp_path: Path, capfd):
    command = clinic(tmp_path, [f"s{i:02}.dcm" for i in range(12)])
    for i in range(12):
        write_dicom(tmp_path / "P" / f"s{i:02}.dcm", 1, i)
    whole = (tmp_path / "P" / "s03.dcm").read_bytes()
    (tmp_path / "P" / "s03.dcm").write_bytes(whole[:-900])
    assert cli.main(command) == 0
    (line,) = (d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "device file")
    assert line.key == "s03" and line.detail.startswith("a DICOM file that cannot be read (")
    check_nothing_leaves(tmp_path / "OUT", "".join(capfd.readouterr()))


def write_vol(file: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Write a volume of three B-scans by the library's writer, mended where it fails: dates, and no layers."""
    eyepy = pytest.importorskip("eyepy")
    core, writing = importlib.import_module("construct.core"), importlib.import_module("eyepy.io.he.vol_reader")
    dates = SimpleNamespace(combine=lambda day, time: "2020-01-02T00:00:00")
    monkeypatch.setattr(writing, "datetime", SimpleNamespace(datetime=dates, time=lambda: None))
    build = core.FormatField._build

    def whole(self: Any, value: Any, *rest: Any) -> Any:
        return build(self, int(value) if isinstance(value, float) and self.fmtstr[-1] in "QqLlIi" else value, *rest)

    monkeypatch.setattr(core.FormatField, "_build", whole)
    no_layers = lambda self, scan: np.zeros((0, scan.volume.size_x), np.float32)  # noqa: E731
    monkeypatch.setattr(writing.HeVolWriter, "_segmentations_from_bscan", no_layers)
    ends = [((0, 0.24 * n), (6, 0.24 * n)) for n in range(3)]
    scans = [eyepy.EyeBscanMeta(start_pos=a, end_pos=b, pos_unit="mm", quality=25.0) for a, b in ends]
    person = {"pid": 7, "patient_id": SECRET[1], "dob": None}
    meta = eyepy.EyeVolumeMeta(
        scale_x=0.0117,
        scale_y=0.0039,
        scale_z=0.24,
        scale_unit="mm",
        bscan_meta=scans,
        laterality="OS",
        exam_time=None,
        visit_date=None,
        patient=person,
    )
    slo = eyepy.EyeEnfaceMeta(0.011, 0.011, "mm", modality="NIR", laterality="OS", field_size=30, scan_focus=0.5)
    data = np.stack([picture(4 * n, seed) for n in (1, 2, 3)]).astype(np.float32) / 255
    volume = eyepy.EyeVolume(data, meta, eyepy.EyeEnface(bright(seed), slo))
    writing.HeVolWriter(volume).write(file)
    monkeypatch.undo()


def write_fds(file: Path, seed: int) -> None:
    """Write a Topcon volume of two B-scans with its fundus image, by the structures of the library that reads it."""
    structs = pytest.importorskip("oct_converter.readers.binary_structs.fds_binary")
    scans = np.stack([picture(4 * n, seed).astype(np.uint16) << 8 for n in (1, 2)], axis=2).transpose(1, 0, 2)
    size = {"width": 60, "height": 40, "bits_per_pixel": 16, "format": 0, "size": 0}
    head = structs.oct_header.build({"scan_mode": 2, "number_slices": 2} | size)
    fundus = np.repeat(bright(seed)[..., None], 3, axis=2)
    of_fundus = {"width": 30, "height": 30, "bits_per_pixel": 24, "number_slices": 1, "format": 0, "size": fundus.size}
    taken = {"eye": 1, "scan_mode": 2, "session_id": 1, "label": "", "cap_date": [2020, 1, 2, 3, 4, 5]}
    scale = {"x_dimension_mm": 0.702, "y_dimension_mm": 6.0, "z_resolution_um": 3.5, "comp_eff_2": 0, "comp_eff_3": 0}
    scale |= dict.fromkeys(("fixation", "mirror_pos", "polar", "base_pos", "used_calib_data"), 0)
    chunks = {
        b"@IMG_SCAN_03": head + scans.tobytes(order="F"),
        b"@IMG_OBS": structs.fundus_header.build(of_fundus) + fundus.tobytes(),
        b"@CAPTURE_INFO_02": structs.capture_info_02_header.build(taken),
        b"@PARAM_SCAN_04": structs.param_scan_04_header.build(scale),
        b"@COMMENT": SECRET[1].encode(),
    }
    named = [bytes([len(name)]) + name + len(data).to_bytes(4, "little") + data for name, data in chunks.items()]
    file.write_bytes(b"FOCTFDS" + bytes(8) + b"".join(named) + b"\0")


def test_a_topcon_volume_has_its_scans_and_its_fundus_image(tmp_path: Path, capfd):
    command = clinic(tmp_path, [f"s{i:02}.fds" for i in range(12)])
    for i in range(12):
        write_fds(tmp_path / "P" / f"s{i:02}.fds", i)
    assert cli.main([*command, "--page", "all"]) == 0
    rows = [r for r in read_csv(tmp_path / "OUT" / "scans.csv") if r["file"] == "s00.fds"]
    assert [(r["page"], r["x_micrometres"], r["y_micrometres"]) for r in rows] == [
        ("1", "11.7", "3.5"), ("2", "11.7", "3.5"), ("3", "", ""),
    ]  # fmt: skip
    means = [mean for key, (_, mean) in sorted(shown(tmp_path / "OUT").items()) if key.startswith("s00")]
    assert abs(means[0] - grey(4)) < 12 and abs(means[1] - grey(8)) < 12 and means[2] > 190
    check_nothing_leaves(tmp_path / "OUT", "".join(capfd.readouterr()))


def test_a_heidelberg_volume_has_its_scans_and_its_slo_image(tmp_path: Path, monkeypatch, capfd):
    command = clinic(tmp_path, [f"s{i:02}.vol" for i in range(12)])
    for i in range(12):
        write_vol(tmp_path / "P" / f"s{i:02}.vol", monkeypatch, i)
    assert SECRET[1].encode() in (tmp_path / "P" / "s00.vol").read_bytes()
    assert cli.main([*command, "--page", "all"]) == 0
    rows = [r for r in read_csv(tmp_path / "OUT" / "scans.csv") if r["file"] == "s00.vol"]
    assert [r["page"] for r in rows] == ["1", "2", "3", "4"] and {r["side"] for r in rows} == {"left"}
    assert (rows[1]["x_micrometres"], rows[1]["y_micrometres"], rows[1]["start_y"]) == ("11.7", "3.9", "0.24")
    means = [mean for key, (_, mean) in sorted(shown(tmp_path / "OUT").items()) if key.startswith("s00")]
    assert means[0] < means[1] < means[2] < means[3]
    check_nothing_leaves(tmp_path / "OUT", "".join(capfd.readouterr()))


def test_photographs_of_phones_are_read(tmp_path: Path):
    heif = pytest.importorskip("pillow_heif")
    command = clinic(tmp_path, [f"s{i:02}.heic" for i in range(12)])
    exif = Image.Exif()
    exif[0x013B] = SECRET[0]
    for i in range(12):
        heif.from_pillow(Image.fromarray(picture(i, i)).convert("RGB")).save(
            tmp_path / "P" / f"s{i:02}.heic", exif=exif.tobytes()
        )
    assert cli.main(command) == 0
    assert all(abs(mean - grey(int(key[1:]))) < 12 for key, (_, mean) in shown(tmp_path / "OUT").items())
    check_nothing_leaves(tmp_path / "OUT", "")


def test_without_the_extra_a_file_is_named_as_what_it_is(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    kinds = {"s00.fda": "a Topcon FDA volume", "s01.vol": "a Heidelberg VOL volume", "s02.heic": "a HEIC photograph"}
    names = [*kinds, *(f"s{i:02}.png" for i in range(3, 45))]
    command = clinic(tmp_path, names)
    for i, name in enumerate(names):
        file = tmp_path / "P" / name
        file.write_bytes(b"x") if name in kinds else Image.fromarray(picture(3, i)).save(file)
    assert cli.main(command) == 0
    lines = {d.file: d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "device file"}
    assert lines == {name: f"{what}; `pip install 'lmod-train[devices]'` reads it" for name, what in kinds.items()}
