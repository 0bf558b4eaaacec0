"""The command `dissect`: where in a local model the information about an image is lost."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Answer, Prediction, Unparsed

if TYPE_CHECKING:
    import pandas as pd

CALLBACK = "lmod_train.extensions.dissection.callback.Dissection"

Ceiling = tuple[Sequence[Prediction], frozenset[str] | None]
"""Replies of a supervised model, and the questions whose images it was not trained on; None if it saw none."""

OWN = {r"^run=": "out=", r"--run\b": "--out", r"--data\.tasks\b": "--task"}
"""Pattern of an option of `validate` in a message -> the option of this command that it was made of."""


def dissect(
    others: Sequence[str],
    model: str,
    curated: Path,
    *,
    task: str,
    out: Path,
    ceiling: Path | None = None,
    reference: Path | None = None,
    split: Literal["held_out", "val", "test", "all"] = "held_out",
    pairs: NonNegativeInt = 60,
    control: bool = False,
    trust: list[str] | None = None,
) -> int:
    """Show where in a local model the information about an image is lost, from its tower to the scored reply.

    Asks the questions of a task, reads the right answer with linear probes at each place of the model, exchanges the
    image between questions layer by layer, and names the first place that loses at least 5 points. Writes a run folder
    with replies, states and a page, `OUT/report/index.html`. The same command again continues. `report` shows several
    such folders side by side. States take about 4 MB an image for a model of 7B parameters. Other options, such as
    --trainer.accelerator, are those of `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        model: YAML file or name of a shipped model (`list models`), folder of weights, or folder of a run of `fit`.
        curated: Curated folder.
        task: Name of a task with listed choices and one image a question, e.g. four_way.
        out: Folder to write; new, or of the same command.
        ceiling: Run of a supervised model on the same records, whose score is what a tower could reach.
        reference: Folder of this command of another model of the architecture, or of the base before tuning; without
            it, a loss to the prior cannot be told from an image that is not used.
        split: Splits whose images are read; held_out is val and test; images that a run was tuned on are left out.
        pairs: Number of questions whose image is exchanged at each layer; 0 for none.
        control: Read a tower of random weights too; what it gives needs no training.
        trust: Module outside this package with task classes that records name, which may be imported; can be repeated.
    """
    from lmod_train.cli.names import check_names
    from lmod_train.cli.short_names import by_name
    from lmod_train.core.artifacts.manifest import read_manifest

    read_manifest(curated)
    reached = None if ceiling is None else _ceiling(ceiling, curated, task)
    compared = None if reference is None else _reference(reference, task)
    asked = ["--data.curated", str(curated), "--data.tasks", task, "--data.split", split, "--run", str(out)]
    trusted = [word for module in trust or () for word in ("--trust", module)]
    options = [*_model(model, trust or ()), *asked, *trusted, *_callback(pairs, control), *others]
    with _as_typed():
        named = by_name("validate", options)
        check_names("validate", named)
        from lmod_train.cli.experiment import run as validate

        status = validate(["validate", *named])
    from lmod_train.core.lock import is_first

    if is_first():
        _keep_reference(out, reference, compared)
        if ceiling is not None:
            _refuse_own_tower(out, ceiling)
        _read(out, reached, tuple(trust or ()))
    return status


def _refuse_own_tower(out: Path, ceiling: Path) -> None:
    """Refuse a ceiling that holds most matrices of the tower, frozen: what the tower lost, it lacks too."""
    import pandas as pd

    from lmod_train.core.artifacts.run import Run
    from lmod_train.extensions.dissection.state_files import Dissected
    from lmod_train.extensions.dissection.states import matrices_of
    from lmod_train.models.chat.checkpoint import find_any
    from lmod_train.models.vision.published_weights import located
    from lmod_train.models.vision.weights_file import read_weights

    held: set[str] = set()
    for key, name in _frozen(Run(ceiling).read_config().get("model") if Run(ceiling).config.exists() else None):
        with suppress(LmodError):  # weights that are gone or remote are not compared
            place = find_any(name) if key == "checkpoint" else located(name)
            for file in sorted(place.glob("*.safetensors")) if place.is_dir() else [place]:
                held |= matrices_of(read_weights(file).tensors.values())
    own = set(pd.read_csv(Dissected(out).tower)["matrix"]) if Dissected(out).tower.exists() else set()
    if len(own & held) > len(own) / 2:
        cure = "name a model trained from pixels, or leave `--ceiling` out; what has been computed is kept"
        raise BadArgument("--ceiling", f"{ceiling}, on the tower of MODEL", "a model with a tower of its own", cure)


def _frozen(config: Any, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield the weights that a model's config names and `fit` does not train: those of encoders and of bases."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, str) and (key == "checkpoint" or (key, inside) == ("weights", "encoder")):
            yield key, value
        yield from _frozen(value, key)


def _reference(run: Path, task: str) -> pd.DataFrame:
    """Return the exchanges of a dissected run with the patient of each; refuse another before a model is loaded."""
    import pandas as pd

    from lmod_train.extensions.dissection.state_files import Dissected

    own = Dissected(run)
    if own.answers.exists() and own.interchange.exists():
        answers, exchanges = pd.read_parquet(own.answers, columns=["id", "group"]), pd.read_csv(own.interchange)
        exchanges = exchanges.merge(answers.drop_duplicates("id"), on="id")
        if len(exchanges) and all(str(name).startswith(f"{task}/") for name in exchanges["id"]):
            return exchanges
    cure = f"make one: `python -m lmod_train dissect MODEL CURATED --task {task} --out DIR`"
    raise BadArgument("--reference", str(run), f"a folder of `dissect` with exchanged images of {task}", cure)


def _keep_reference(out: Path, run: Path | None, exchanges: pd.DataFrame | None) -> None:
    """Keep the exchanges of a reference beside those of a run; refuse the same model, and another architecture."""
    from lmod_train.cli.run_provenance import KEY
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.files import remove
    from lmod_train.extensions.dissection.state_files import Dissected

    own = Dissected(out)
    if run is None or exchanges is None:
        remove(own.reference)
        return
    layers = [
        [(p, part.stop - part.start) for p, part in one.places().items() if p.startswith("image.")]
        for one in (own, Dissected(run))
    ]
    weights = [sorted(((Run(one).read_config().get(KEY) or {}).get("weights") or {}).values()) for one in (out, run)]
    same = weights[0] == weights[1] != []
    if same or layers[0] != layers[1]:
        found = "the same model" if same else "a model of other layers"
        cure = "name another, or leave `--reference` out; what has been computed is kept"
        raise BadArgument("--reference", f"{run}, {found}", "another model of this architecture", cure)
    own.keep(own.reference, exchanges)


def _ceiling(run: Path, curated: Path, task: str) -> Ceiling:
    """Return what a supervised model answered; refuse a run of other records before a model is loaded."""
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.training_set import read_unseen
    from lmod_train.scoring.items import images_of

    given, unseen = read_predictions(Run(run).predictions), read_unseen(run)
    records = read_records(curated / "records")
    known = {r.id for r in records if r.task == task} or {r.id for r in records}
    _reached(given, unseen, {p.record.id: images_of(p.record) for p in given if p.record.id in known})
    return given, unseen


@contextmanager
def _as_typed() -> Iterator[None]:
    """Name options in errors as they are typed in this command."""
    try:
        yield
    except LmodError as error:
        text = str(error)
        for theirs, own in OWN.items():
            text = re.sub(theirs, own, text)
        error.args = (text,)
        raise


def _model(model: str, trust: Sequence[str]) -> list[str]:
    """Return the options that load a model: that of a run of `fit` with its last checkpoint, a folder, or a name.

    Of a run only the model and the precision are used: its loggers, strategy and choice of records are of its training.
    """
    import json

    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.own_modules import class_modules
    from lmod_train.tasks.trust import Trust

    run = Run(Path(model))
    if run.config.exists():
        config = run.read_config()
        own = config.get("model")
        if not isinstance(own, dict) or not run.last.exists():
            expected = "a run of `fit` with checkpoints/last.ckpt, a folder of weights, or the name of a model"
            raise BadArgument("MODEL", model, expected, "see the names: `python -m lmod_train list models`")
        for module in class_modules(own):
            Trust(tuple(trust), run.folder).check(f"{module}.")
        stated = {name: value for name, value in (own.get("init_args") or {}).items() if name != "tower_features"}
        given = dict.fromkeys(_nullable(str(own.get("class_path"))) - stated.keys()) | stated
        precision = (config.get("trainer") or {}).get("precision")
        options = ["--trainer.precision", str(precision)] if precision else []
        return ["--model", json.dumps(own | {"init_args": given}), "--ckpt_path", str(run.last), *options]
    if (Path(model) / "config.json").exists():
        return ["--model", "small_base", "--model.init_args.backend.init_args.checkpoint", model]
    return ["--model", model]


def _nullable(class_path: str) -> set[str]:
    """Return the arguments of a class that may be null; a config leaves out those that are."""
    hints = get_type_hints(resolve_name(class_path).__init__)
    return {name for name, kind in hints.items() if type(None) in get_args(kind)}


def _callback(pairs: int, control: bool) -> list[str]:
    import json

    return [
        "--trainer.callbacks",
        json.dumps([{"class_path": CALLBACK, "init_args": {"pairs": pairs, "control": control}}]),
    ]


def _read(out: Path, ceiling: Ceiling | None, trust: tuple[str, ...]) -> None:
    """Read the places of a run, write its page, and print what was found."""
    from lmod_train.extensions.dissection.linear_reading import read_places
    from lmod_train.extensions.dissection.sections import WhereItIsLost
    from lmod_train.report.report import write_report
    from lmod_train.report.results import read_results
    from lmod_train.report.sections.scores import Scores

    results = read_results([out], trust=trust)
    items = [item for own in results.items.values() for tasks in own.values() for item in tasks]
    reached = None if ceiling is None else _reached(*ceiling, {item.id: item.image for item in items})
    read_places(out, items, reached, progress=sys.stderr.isatty())
    page = write_report([out], out / "report", trust=trust, sections=[WhereItIsLost(), Scores()])
    print("\n".join(WhereItIsLost.sentences(results)))
    print(f"wrote {page}")


def _reached(
    ceiling: Sequence[Prediction], unseen: frozenset[str] | None, images: Mapping[str, str]
) -> dict[str, Answer | Unparsed]:
    """Return record id -> answer of the supervised model about the same images, none that it was trained on."""
    from lmod_train.scoring.items import images_of
    from lmod_train.scoring.ways import question_of

    found = {
        p.record.id: p.answer
        for p in ceiling
        if images.get(p.record.id) == images_of(p.record)
        and p.record.split != "train"
        and (unseen is None or question_of(p.record.id, p.record.tags) in unseen)
        and p.status != "failed"
    }
    if not found:
        expected = "a run with replies to these records, of a model that was not trained on them"
        cure = "name another, or leave `--ceiling` out; what has been computed is kept"
        raise BadArgument("--ceiling", f"{len(ceiling)} replies to other records", expected, cure)
    return found
