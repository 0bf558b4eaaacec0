"""The command `dissect`: where in a local model the information about an image is lost."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal, get_args, get_type_hints

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.extensions.dissection.ceiling import (
    Ceiling,
    cheap_ceiling,
    reached,
    read_ceiling,
    refuse_own_tower,
)

if TYPE_CHECKING:
    import pandas as pd

CALLBACK = "lmod_train.extensions.dissection.callback.Dissection"

OWN = {r"^run=": "out=", r"--run\b": "--out", r"--data\.tasks\b": "--task"}
"""Pattern of an option of `validate` in a message -> the option of this command that it was made of."""


def dissect(
    others: Sequence[str],
    model: str,
    curated: Path,
    *,
    task: str,
    out: Path,
    ceiling: Literal["cheap", "none"] | Path = "cheap",
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
        ceiling: What a tower could reach: cheap trains a small CNN from pixels on the training split, about a minute;
            none leaves it out; or a run of a supervised model on the same records.
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
    given = read_ceiling(ceiling, curated, task) if isinstance(ceiling, Path) else None
    compared = None if reference is None else reference_of(reference, task)
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
        from lmod_train.extensions.dissection.scores import CEILING, CHEAP

        keep_reference(out, reference, compared)
        if isinstance(ceiling, Path):
            refuse_own_tower(out, ceiling)
        cheap = cheap_ceiling(out, curated, task, split, others, trust or ()) if ceiling == "cheap" else None
        _read(out, {CEILING: given, CHEAP: cheap}, tuple(trust or ()))
    return status


def reference_of(run: Path, task: str) -> pd.DataFrame:
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


def keep_reference(out: Path, run: Path | None, exchanges: pd.DataFrame | None) -> None:
    """Keep the exchanges of a reference beside those of a run; refuse the same model, and another architecture."""
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
    same = "" if layers[0] != layers[1] else _is_same_model(out, run)
    if same or layers[0] != layers[1]:
        found = f"the same model: {same}" if same else "a model of other layers"
        cure = (
            "dissect the base before tuning, or a training of another seed, into a folder and name that; or leave "
            "`--reference` out; what has been computed is kept"
        )
        raise BadArgument("--reference", f"{run}, {found}", "another model of this architecture", cure)
    own.keep(own.reference, exchanges)


SAME = 0.05
"""Mean difference of log-likelihoods, in nats, below which two models are the same: what other files and another order
of sums make of one, e.g. merged adapters, is smaller."""


def _is_same_model(out: Path, run: Path) -> str:
    """Return why two dissected runs are of one model, by its files or by its likelihoods; empty if they are not."""
    import numpy as np

    from lmod_train.cli.run_provenance import KEY
    from lmod_train.core.artifacts.records import read_run_column
    from lmod_train.core.artifacts.run import Run
    from lmod_train.extensions.dissection.state_files import Dissected
    from lmod_train.extensions.dissection.states import LIKELIHOODS

    weights = [sorted(((Run(one).read_config().get(KEY) or {}).get("weights") or {}).values()) for one in (out, run)]
    if weights[0] == weights[1] != []:
        return "its files are the same"
    both = [(Dissected(one), read_run_column(Run(one).records, "asked")) for one in (out, run)]
    common = [i for i in both[0][1] if i in both[1][1] and all(one.has(asked[i]) for one, asked in both)]
    if not common:
        return ""
    one, other = (own.states([asked[i] for i in common], own.places()[LIKELIHOODS]) for own, asked in both)
    equal = one.shape == other.shape and float(np.abs(one - other).mean()) < SAME
    return f"its log-likelihoods of {len(common)} records are equal" if equal else ""


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


def _read(out: Path, ceilings: Mapping[str, Ceiling | None], trust: tuple[str, ...]) -> None:
    """Read the places of a run, write its page, and print what was found."""
    from lmod_train.extensions.dissection.linear_reading import read_places
    from lmod_train.extensions.dissection.sections import WhereItIsLost
    from lmod_train.report.report import write_report
    from lmod_train.report.results import read_results
    from lmod_train.report.sections.scores import Scores

    results = read_results([out], trust=trust)
    items = [item for own in results.items.values() for tasks in own.values() for item in tasks]
    images = {item.id: item.image for item in items}
    answers = {place: reached(*own, images) for place, own in ceilings.items() if own is not None}
    read_places(out, items, answers, progress=sys.stderr.isatty())
    page = write_report([out], out / "report", trust=trust, sections=[WhereItIsLost(), Scores()])
    print("\n".join(WhereItIsLost.sentences(results)))
    print(f"wrote {page}")
