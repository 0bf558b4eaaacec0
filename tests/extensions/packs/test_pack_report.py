import shutil
import zipfile

import pytest
import yaml

from lmod_train.core.errors import ArtifactError, BadArgument, LmodError
from lmod_train.extensions.packs.pack import read_pack
from lmod_train.extensions.packs.packing import pack
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from tests.report import packs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run about an open and a withheld source, its curated folder and its pack."""
    root = tmp_path_factory.mktemp("packs")
    place = packs.curated(root / "curated")
    run = packs.run(root / "run", place)
    lines = pack(run, root / "run.lmodpack")
    return root, lines


def contents(file):
    with zipfile.ZipFile(file) as opened:
        return "\n".join(opened.read(name).decode() for name in opened.namelist())


def test_nothing_of_a_withheld_source_is_in_the_pack(made):
    root, lines = made
    text = contents(root / "run.lmodpack")
    packed = read_pack(root / "run.lmodpack")
    closed = [p for p in packed.predictions if p.id.startswith("withheld/")]
    assert len(closed) == 24 and len(packed.predictions) == 48
    own = "\n".join(map(str, closed))
    assert not [word for word in packs.SECRETS if word in own]
    assert not [i for i in range(24) if packs.question("closed", i).image_sha256[0] in text]
    assert not [word for word in ("gentleman", "Canon", "group-of", "rendered", "rainy") if word in text]
    assert lines[0] == "withheld, as redistribution is not permitted: record ids and image hashes of closed"


def test_the_order_of_withheld_records_is_not_that_of_their_names(made):
    packed = read_pack(made[0] / "run.lmodpack")
    ids = [p.id for p in packed.predictions]
    assert ids == sorted(ids) and len(set(ids)) == len(ids)


def test_of_an_open_source_ids_and_images_are_readable(made):
    packed = read_pack(made[0] / "run.lmodpack")
    first = next(p for p in packed.predictions if p.id == packs.question("open", 0).id)
    assert first.images == packs.question("open", 0).image_sha256
    assert any(isinstance(piece, tuple) for piece in first.reply)


def test_a_withheld_id_cannot_be_found_without_the_images(made, tmp_path):
    """The same names and words with other images have other ids, so that names cannot be tried out."""
    place = packs.curated(tmp_path / "curated")
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.extensions.packs.withheld import Keys

    records = read_records(place / "records")
    own = Keys(records, read_manifest(place)).id_of(packs.question("closed", 3))
    guess = Keys(records[:-1], read_manifest(place)).id_of(packs.question("closed", 3))
    assert own in {p.id for p in read_pack(made[0] / "run.lmodpack").predictions}
    assert guess != own


def test_equal_runs_give_equal_bytes_on_every_machine(made, tmp_path):
    place = packs.curated(tmp_path / "elsewhere" / "curated")
    run = packs.run(tmp_path / "run", place)
    pack(run, tmp_path / "again.lmodpack")
    assert (tmp_path / "again.lmodpack").read_bytes() == (made[0] / "run.lmodpack").read_bytes()


def test_scores_of_few_items_of_a_withheld_source_are_left_out(made, tmp_path):
    place = packs.curated(tmp_path / "curated", n=24)
    run = packs.run(tmp_path / "run", place, keep=lambda r: r.source == "open" or r.key.endswith(("1", "2", "3")))
    lines = pack(run, tmp_path / "run.lmodpack")
    subsets = {s.subset for s in read_pack(tmp_path / "run.lmodpack").scores}
    assert not subsets  # the open truths are known, so that any total gives away the sum over nine withheld ones
    assert "source=closed" in {s.subset for s in read_pack(made[0] / "run.lmodpack").scores}
    assert [line for line in lines if line.startswith("left out: ")]


def test_no_folder_of_this_machine_and_no_user_is_in_the_pack(made, tmp_path):
    place = packs.curated(tmp_path / "curated")
    settings = '{"base_url": "https://lovelace:pw@api.example.org/v1?key=s3cr3t", "cache": "/srv/lovelace/cache/x"}'
    run = packs.run(tmp_path / "run", place, model=f"{tmp_path}/models/tuned", settings=settings)
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["provenance"]["weights"] = {f"{tmp_path}/w.bin": "d" * 64}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    pack(run, tmp_path / "run.lmodpack")
    text = contents(tmp_path / "run.lmodpack")
    assert read_pack(tmp_path / "run.lmodpack").model == "tuned"
    assert not [word for word in (str(tmp_path), "lovelace", "s3cr3t", "/srv") if word in text]
    assert "https://api.example.org/v1" in text


def test_failed_requests_are_packed_without_their_message(made, tmp_path):
    run = packs.run(tmp_path / "run", made[0] / "curated", error=f"OSError: {tmp_path}/x.jpg is gone")
    pack(run, tmp_path / "run.lmodpack")
    packed = read_pack(tmp_path / "run.lmodpack")
    assert {p.finish_reason for p in packed.predictions} == {"error"}
    assert "OSError" not in contents(tmp_path / "run.lmodpack")


def test_a_run_without_a_known_curated_folder_asks_for_it(made, tmp_path):
    run = shutil.copytree(made[0] / "run", tmp_path / "run")
    (run / "config.yaml").unlink()
    with pytest.raises(BadArgument, match=r"--curated CURATED"):
        pack(run, tmp_path / "x.lmodpack")
    assert pack(run, tmp_path / "x.lmodpack", made[0] / "curated")


def test_a_run_of_another_folder_is_refused(made, tmp_path):
    with pytest.raises(BadArgument, match="is not there"):
        pack(made[0] / "run", tmp_path / "x.lmodpack", packs.curated(tmp_path / "other", n=3))
    assert not (tmp_path / "x.lmodpack").exists()


def test_scores_that_are_not_those_of_the_replies_are_refused(made, tmp_path):
    run = shutil.copytree(made[0] / "run", tmp_path / "run")
    text = (run / "scores.csv").read_text().replace("accuracy_strict,48,0.", "accuracy_strict,48,0.9", 1)
    (run / "scores.csv").write_text(text)
    with pytest.raises(ArtifactError, match="is not what its replies give now"):
        pack(run, tmp_path / "x.lmodpack")


def test_arguments_of_a_task_travel_with_the_pack(made, tmp_path):
    run = packs.run(tmp_path / "run", made[0] / "curated", tasks=[Glaucoma(sources=["open"]), Anatomy(lesions=[])])
    config = yaml.safe_load((run / "config.yaml").read_text())
    kinds = [("glaucoma.Glaucoma", {"sources": ["open"]}), ("anatomy.Anatomy", {"lesions": []})]
    config["data"]["tasks"] = [{"class_path": f"lmod_train.tasks.{p}", "init_args": a} for p, a in kinds]
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    pack(run, tmp_path / "run.lmodpack")
    found = {t.name: t.arguments for t in read_pack(tmp_path / "run.lmodpack").tasks}
    assert found == {"glaucoma": '{"sources": ["open"]}', "anatomy": '{"lesions": []}'}


def test_a_missing_run_names_what_is_missing(tmp_path):
    with pytest.raises(LmodError):
        pack(tmp_path / "nothing", tmp_path / "x.lmodpack")
