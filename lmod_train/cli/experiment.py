"""Lightning's commands `fit`, `validate`, `test` and `predict`: run folder, training, and the tables after a run."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import SUPPRESS
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch
from jsonargparse import Namespace
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt
from lightning import LightningDataModule, LightningModule
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import BatchSizeFinder, LearningRateFinder, ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_only, rank_zero_warn

from lmod_train.cli.after_run import best_of, next_of, refuse_unscored, scored
from lmod_train.cli.commands import LIGHTNING
from lmod_train.cli.defaults import DEFAULTS, default_run
from lmod_train.cli.ended import asked
from lmod_train.cli.examination import cause_of, examined, plain
from lmod_train.cli.missing_pieces import check_gpu
from lmod_train.cli.parser import PROGRAM, Refusing
from lmod_train.cli.run_config import settled, training_settings
from lmod_train.cli.run_provenance import built_again, compare_origin, network_of, note, origin_of, write_provenance
from lmod_train.cli.short_help import WHOLE
from lmod_train.cli.short_names import DATA, data_class
from lmod_train.cli.tasks_used import use_tasks
from lmod_train.cli.terminal import lines, silenced
from lmod_train.cli.typed import in_order, taken, yaml_of
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import is_trained
from lmod_train.core.artifacts.training_set import run_of_checkpoint, training_of
from lmod_train.core.errors import BadArgument, LmodError, Unbuildable, check_number
from lmod_train.core.files import move, remove
from lmod_train.core.links import refuse_links
from lmod_train.core.own_modules import unnamed_import
from lmod_train.core.package_data import package_data
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.strategies.keeping import damaged, set_aside
from lmod_train.models.strategies.saved import AnyCheckpoint, damage, facts_of, to_continue
from lmod_train.models.strategies.sharding import Sharded
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint
from lmod_train.training.callbacks.energy import EnergyOfReplies
from lmod_train.training.callbacks.estimate import SAMPLE, Estimate
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.learning import Learning
from lmod_train.training.callbacks.progress import Progress
from lmod_train.training.callbacks.termination import Termination
from lmod_train.training.callbacks.training_images import TrainingSet
from lmod_train.training.callbacks.tripwires import Collapsed, Tripwires
from lmod_train.training.doctor.read_back import ReadBack

WRITTEN = ("provenance", "weights")
"""Keys that a run writes to its ``config.yaml`` and that are not read from it."""

ONCE = ("estimate", "max_cost")
"""Keys that a run does not keep: another command with its ``config.yaml`` asks as usual."""

NUMBERS: Mapping[str, tuple[float, float]] = package_data(__file__, "defaults.yaml")["numbers"]
"""Options that Lightning does not check, or that end in an error of its own -> smallest and largest value."""

TRUST: str = package_data(__file__, "texts.yaml")["trust"]

AGAINST: str = package_data(__file__, "texts.yaml")["against"]

ESTIMATE: str = package_data(__file__, "texts.yaml")["estimate"]

MAX_COST: str = package_data(__file__, "texts.yaml")["max_cost"]

DEEPSPEED = "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed"


def run(arguments: list[str], once: bool = False) -> int:
    """Run one of Lightning's commands, then write predictions and scores from the replies.

    Returns:
        The exit status: 0, or `INCOMPLETE` if a record that was to be asked has no reply.

    Args:
        arguments: The command and its options.
        once: Whether a complete training of the same configuration is left as it is, without building the model.
    """
    if not os.environ.get("WANDB_API_KEY") and not (Path.home() / ".netrc").exists():
        os.environ.setdefault("WANDB_MODE", "offline")  # without a key, wandb would wait for input
    given = None if arguments == sys.argv[1:] else arguments  # Lightning warns if arguments are passed twice
    with silenced(sys.stderr.isatty()), ExitStack() as held:
        try:
            experiment = performed(Experiment, held, options() | {"once": once}, given)
        except Trained as done:
            rank_zero_info(f"{done}: the training is complete")
            return 0
        folder, trains = Path(experiment.trainer.default_root_dir), experiment.subcommand == "fit"
        if trains:
            _refuse_no_step(experiment)
        note(folder, loaded=experiment.model.weights_origin, network=network_of(experiment.model))
        if trains:
            finish(experiment.trainer, folder)
        _tell_not_asked(experiment, folder)
        if not trains and experiment.loaded:
            note(folder, epochs=experiment.model.checkpoint_epochs, steps=experiment.model.checkpoint_step)
        config = experiment.config[experiment.subcommand]
        trusted = [*config.trust, *experiment.own]
        ended = asked(experiment, held, "answered", trusted)
        if ended.scored:
            print(lines(scored(folder, [Path(other) for other in config.against], trusted, arguments)))
        if not once and (told := [*best_of(experiment, folder), *([next_of(folder)] if ended.scored else [])]):
            print(lines("\n".join(told)))
        return 0 if trains else ended.status


def _refuse_no_step(experiment: Experiment) -> None:
    """Refuse a training that made no step, unless the run was complete already, which is printed.

    Raises:
        LmodError: It made none, because of the options or of the checkpoint that it started from.
    """
    trainer, begun = experiment.trainer, experiment.begun
    if trainer.global_step != begun or not trainer.optimizers:  # nearest neighbours have no optimiser
        return
    if experiment._continues and begun:
        rank_zero_info(f"{trainer.default_root_dir}: the training is complete, with {begun} steps")
        return
    at = f", and the checkpoint it started from has {begun} steps" if begun else ""
    raise LmodError(
        f"no optimiser step was made: trainer.max_epochs={trainer.max_epochs}, trainer.max_steps={trainer.max_steps}, "
        f"{trainer.num_training_batches} batches an epoch{at}; nothing was saved.\n"
        "Next: train longer, e.g. `--trainer.max_epochs 100 --trainer.max_steps -1`; "
        "trainer.limit_train_batches must leave a batch"
    )


def _tell_not_asked(experiment: Experiment, folder: Path) -> None:
    """Print the tasks without records in the evaluated split, and write them to the run's config."""
    records = {r.task for r in experiment.datamodule.asked(str(experiment.subcommand))}
    absent = [name for name in experiment.datamodule.tasks if name not in records]
    note(folder, tasks_not_asked=[*experiment.absent, *absent])
    if absent:
        rank_zero_info(f"not asked, as the split has no records of these tasks: {', '.join(absent)}")


def performed(kind: type[Experiment], held: ExitStack, chosen: dict[str, Any], arguments: list[str] | None) -> Any:
    """Return an experiment after its command has run.

    Args:
        kind: Class of the experiment.
        held: Stack that holds the lock of the run folder.
        chosen: Options of LightningCLI.
        arguments: The command and its options; None for those of the process.
    """
    try:
        return kind(held, **chosen, args=arguments)
    except Collapsed as stopped:
        from lmod_train.report.probe_curves import draw_probes  # it loads matplotlib

        rank_zero_only(draw_probes)(stopped.file.parent)
        raise
    except (RuntimeError, MisconfigurationException) as error:
        if monitored := re.search(r"conditioned on metric `(.+?)`|ModelCheckpoint\(monitor='(.+?)'", str(error)):
            found = str(error).partition("metrics: ")[2].partition(" HINT")[0] or str(error).partition("following: ")[2]
            raise _unlogged(monitored[1] or monitored[2], found) from error
        raise
    except SystemExit as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):  # Lightning exits with status 1 after Ctrl-C
            raise ended.__context__ from None
        raise


def _unlogged(monitor: str, known: str) -> BadArgument:
    """Return the error for a metric that a callback monitors and nobody logs."""
    cure = "name one of them, e.g. `train/loss`, or take the callback out of trainer.callbacks"
    return BadArgument("trainer.callbacks.monitor", monitor, f"a logged metric ({known.strip()})", cure)


def options() -> dict[str, Any]:
    """Return the options of LightningCLI that all commands share."""
    return {
        "model_class": LmodModule,
        "datamodule_class": RecordsDataModule,
        "subclass_mode_model": True,
        "save_config_callback": None,
        "parser_class": Parser,
        "seed_everything_default": 0,
        "trainer_defaults": {
            **DEFAULTS["trainer"],
            "callbacks": [Termination(), Progress(), TrainingSet(), Learning(), EnergyOfReplies()],
        },
        "parser_kwargs": {"prog": "python -m lmod_train"},
    }


class Parser(Refusing, LightningArgumentParser):
    """Lightning's parser with the error messages of the other commands."""

    whole_help = WHOLE


class Experiment(LightningCLI):
    """LightningCLI with a run folder, the evaluation callback, and one link: the classifier's choices.

    Args:
        held: Stack that holds the lock of the run folder.
        once: Whether a complete training is left as it is.
        options: Options of LightningCLI.

    Attributes:
        loaded: The checkpoint of `--ckpt_path`, evaluated or started from; empty without.
        absent: Names of tasks of the config that the curated folder lacks.
        own: Modules of the classes in the configuration of the data, which are trusted.
        defaults: Configuration of the command without any options, as plain values.
        begun: Optimiser steps of the checkpoint that a training starts from; 0 without one.
    """

    def __init__(self, held: ExitStack, once: bool = False, **options: Any) -> None:
        self._held, self._once, self.absent = held, once, list[str]()
        self.begun = 0
        self._typed = sys.argv[1:] if options.get("args") is None else list(options["args"])
        Refusing.data_class = data_class(self._typed[1:]) if options["datamodule_class"] is RecordsDataModule else ""
        if Refusing.data_class:
            options["datamodule_class"] = _datamodule(Refusing.data_class)
        super().__init__(**options)

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]
        """Return the typed command alone, as the options of each take a third of a second; all if none is typed."""
        every = LightningCLI.subcommands()
        return {name: every[name] for name in self._typed[:1] if name in every} or every

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add `--run`, the callbacks of every run, and the link of the choices."""
        parser.add_argument("--run", type=Path, default=None, help="Folder; default runs/<config>/<command>.")
        parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=TRUST)
        parser.add_argument("--against", action="append", default=[], metavar="RUN", help=AGAINST)
        parser.add_argument("--estimate", type=NonNegativeInt, nargs="?", const=SAMPLE, default=0, help=ESTIMATE)
        parser.add_argument("--max_cost", type=NonNegativeFloat, default=0.0, help=MAX_COST)
        for key in WRITTEN:  # so that another run can use the config.yaml of a run
            parser.add_argument(f"--{key}", type=Any, default=None, help=SUPPRESS)
        parser.link_arguments("data", "model.init_args.choices", _choices, apply_on="instantiate")
        parser.add_lightning_class_args(GenerationEval, "evaluation")
        parser.add_lightning_class_args(Tripwires, "tripwires")
        parser.add_argument("--doctor.refuse", type=bool, default=True, help="Do not train if a check fails.")
        parser.add_argument("--doctor.images", type=NonNegativeInt, default=0, help="Images to decode; 0 for all.")
        parser.add_lightning_class_args(ReadBack, "read_back")
        parser.add_lightning_class_args(ModelCheckpoint, "checkpoint")
        parser.add_lightning_class_args(BestCheckpoint, "best")
        parser.set_defaults({f"checkpoint.{name}": value for name, value in DEFAULTS["checkpoint"].items()})

    def _prepare_subcommand_parser(self, klass: type, subcommand: str, **kwargs: Any) -> LightningArgumentParser:
        """Switch off Lightning's table of metrics, which has neither numbers of records nor intervals."""
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        parser.usage = f"{PROGRAM} {subcommand} --config NAME|FILE [--OPTION VALUE ...]"  # instead of every option
        parser.description = LIGHTNING[subcommand]
        if subcommand in ("validate", "test"):
            parser.set_defaults({"verbose": False})
        return parser

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse the options in the order in which they apply, and choose the tasks."""
        typed = sys.argv[1:] if args is None else list(args)
        named, rest = taken(typed[1:], DATA)
        if named and not isinstance(yaml_of(named), str):  # a file of options, or the options
            rest = typed[1:]
        ordered = [*typed[:1], *in_order(taken(rest, f"{DATA}.class_path")[1])]
        super().parse_arguments(parser, args if ordered == typed else ordered)
        name = str(self.config.get("subcommand"))
        for key, (least, most) in NUMBERS.items():  # before Lightning uses the seed
            if (value := self.config.get(name, {}).get(key)) is not None:
                check_number(key, value, least, most, "leave it out for the default")
        if (kind := self._choosing()) is not None:
            self.absent = use_tasks(kind, self.config[name], typed)

    def _choosing(self) -> type[RecordsDataModule] | None:
        """Return the class of a datamodule that takes tasks; judges, drafts and a user's class have their own."""
        kind: Any = self.datamodule_class
        return kind if next(one for one in kind.__mro__ if "__init__" in vars(one)) is RecordsDataModule else None

    def _own_tasks(self) -> list[dict[str, Any]]:
        """Return classes and arguments of tasks that are not in the configuration."""
        given = self.config[self.subcommand].get("data", {}).get("tasks")
        return [] if given else built_again(getattr(self.datamodule, "tasks", {}).values())

    def resolved(self) -> dict[str, Any]:
        """Return the configuration of the command as plain values, with the path of the datamodule's class."""
        return self._with_path(plain(self._parser(self.subcommand), self.config[self.subcommand]))

    def _with_path(self, values: dict[str, Any]) -> dict[str, Any]:
        path = Refusing.data_class
        return values | {"data": {"class_path": path, **values.get("data", {})}} if path else values

    def _parse_ckpt_path(self) -> None:
        """Do nothing: Lightning would take the class to build from the checkpoint, which may come from others."""

    def before_instantiate_classes(self) -> None:
        """Prepare the run folder, refuse one of another configuration, and continue an interrupted run."""
        config = self.config[self.subcommand]
        if self.subcommand == "fit":
            refuse_untrainable(config.model.class_path)
        for other in config.against:
            refuse_unscored(Path(other))
        run = config.run or default_run(map(str, config.config or ()), str(self.subcommand))
        config.run, config.trainer.default_root_dir = run, str(run)
        config.checkpoint.dirpath = str(Run(run).checkpoints)
        config.trainer.strategy = ours(config.trainer.strategy)
        for logger in _loggers(config.trainer.logger):
            logger.init_args.save_dir = str(run)
        if config.checkpoint.monitor and not config.checkpoint.save_top_k:
            expected = "none, as last.ckpt is the latest, and best.ckpt is chosen by another option"
            named = shlex.quote(config.checkpoint.monitor.removeprefix("val/"))
            cure = f"add `--checkpoint.save_top_k 1` to keep it too, or type `--best.by {named}` in its place"
            raise BadArgument("checkpoint.monitor", config.checkpoint.monitor, expected, cure)
        for one in _of_class(config.trainer.callbacks, ModelCheckpoint):
            one.init_args.dirpath = one.init_args.dirpath or config.checkpoint.dirpath
        check_gpu(config.trainer.accelerator, torch.cuda.is_available())
        parser = self._parser(self.subcommand)
        self.config_dump = plain(parser, config)  # or Lightning would write it to YAML again, and read it slowly
        resolved = self._with_path(self.config_dump)
        self.defaults = plain(parser, parser.get_defaults())
        resolved = {key: value for key, value in resolved.items() if key not in (*WRITTEN, *ONCE)}
        self.own = list(_modules(resolved["data"]))
        self.loaded = [Path(config.ckpt_path)] if config.ckpt_path else []
        if config.ckpt_path:
            resolved["weights"] = str(config.ckpt_path)
        self._held.enter_context(settled(run, resolved, str(self.subcommand), self.defaults))
        for logger in _loggers(config.trainer.logger):
            refuse_links(Path(run) / (logger.init_args.get("name") or "wandb"))
        if self._once and self.subcommand == "fit" and is_trained(run) and Run(run).scores.exists():
            raise Trained(run)
        if config.trainer.enable_progress_bar is None and not sys.stdout.isatty():
            config.trainer.enable_progress_bar = False  # `Progress` prints lines instead
        last = continued(Run(run).last) if self.subcommand == "fit" else None
        self._continues = last is not None
        if last is not None:  # its own checkpoint takes the place of the one it started from
            rank_zero_info(f"continuing from {last}")
            config.ckpt_path = str(last)

    def instantiate_trainer(self, **options: Any) -> Any:
        """Build the trainer, with the callback that estimates the costs of a service."""
        trainer: Any = super().instantiate_trainer(**options)
        config = self.config[self.subcommand]
        trainer.callbacks.append(Estimate(config.estimate, config.max_cost))
        return trainer

    def instantiate_classes(self) -> None:
        """Build model, data and trainer.

        Raises:
            LmodError: An error of this package, which the parser had wrapped in its own.
            Unbuildable: Any other error of the parser or of Lightning.
        """
        try:
            super().instantiate_classes()
            trusted = [Path(name) for name in self.config[self.subcommand].trust]
            self.trainer.strategy.checkpoint_io = AnyCheckpoint(trusted)
            if isinstance(self.trainer.strategy, Sharded):
                self.trainer.strategy.trusted = trusted
        except (ValueError, RuntimeError, MisconfigurationException) as error:
            cause = cause_of(error)
            if isinstance(cause, LmodError):
                raise cause from None
            raise Unbuildable(" ".join(str(error).split())) from error

    def _instantiate_trainer(self, config: dict[str, Any], callbacks: list[Any]) -> Any:
        """Leave out the default that keeps the best weights if the configuration has one of its own."""
        given = config.get("callbacks") or []
        own = any(isinstance(one, BestCheckpoint) for one in (given if isinstance(given, list) else [given]))
        kept = [one for one in callbacks if not (own and isinstance(one, BestCheckpoint))]
        return super()._instantiate_trainer(config, kept)

    def before_validate(self) -> None:
        """Record the versions of code and weights in the run's config."""
        trained = training_of(run_of_checkpoint(self.loaded[0])) if self.loaded else {}
        run = self.config[self.subcommand].run
        write_provenance(run, (*self.model.identity().weights, *self.loaded), trained=trained)
        note(run, tasks=self._own_tasks(), tasks_not_asked=self.absent)

    before_test = before_predict = before_validate

    def before_fit(self) -> None:
        """Record the versions of code and weights, and run the doctor's checks on a model that generates text.

        Only the first rank runs the checks; the others wait.

        Raises:
            RunConflict: The continued run started from other weights, or its checkpoint has other data or settings.
            Refused: A check failed.
        """
        config = self.config["fit"]
        tasks = getattr(self.datamodule, "tasks", ())
        known = ["train/...", "val/score", "val/loss", *(f"val/{name}/..." for name in tasks)]
        callbacks: Any = getattr(self.trainer, "callbacks", ())
        others = [callback for callback in callbacks if not isinstance(callback, BestCheckpoint)]  # it checks its own
        for monitor in filter(None, (getattr(callback, "monitor", None) for callback in others)):
            own = type(self.model).__module__.startswith("lmod_train.")
            if own and not any(str(monitor).startswith(name.removesuffix("...")) for name in known):
                raise _unlogged(monitor, ", ".join(known))
        ended = (Run(config.run).known_config().get("provenance") or {}).get("steps") if self._continues else None
        weights = (*self.model.identity().weights, *self.loaded)
        write_provenance(config.run, weights, continues=self._continues)
        self.model.origin = origin_of(config.run, training_settings(self.resolved()), self.datamodule)
        if config.ckpt_path:
            theirs = facts_of(Path(config.ckpt_path), [Path(name) for name in config.trust])
            self.begun = int(theirs.get("global_step", 0))
            self._refuse_start(config, theirs)
            if self._continues:
                self._without_searches(theirs)
            if ended == self.begun:  # complete, also where a callback ended it before the last epoch
                self.trainer.fit_loop.epoch_loop.max_steps = self.begun
            compare_origin(Path(config.ckpt_path), theirs.get("origin", {}), self.model.origin, self._continues)
        note(config.run, tasks=self._own_tasks(), tasks_not_asked=self.absent)
        if isinstance(self.model, VisionLanguageModel) and self.trainer.is_global_zero:
            examined(config, self.resolved(), Path(config.run), refuse=config.doctor.refuse)

    def _refuse_start(self, config: Any, theirs: Mapping[str, Any]) -> None:
        """Refuse to begin a training from a checkpoint without the optimiser's state, or beyond its last epoch.

        Raises:
            BadArgument: It is such a checkpoint.
        """
        place, most, done = str(config.ckpt_path), self.trainer.max_epochs, int(theirs.get("epoch", 0))
        if "state_dict" in theirs and "optimizer_states" not in theirs:
            expected = "a checkpoint with the optimiser's state, which best.ckpt leaves out"
            cure = "name last.ckpt of that run, or start from a model of its weights: `weights merge`"
            raise BadArgument("--ckpt_path", place, expected, cure)
        if not self._continues and most and 0 < most <= done:
            expected = f"more than the {done} epochs of {place}, whose training goes on"
            raise BadArgument("trainer.max_epochs", most, expected, f"set trainer.max_epochs to {done + most}")

    def _without_searches(self, theirs: Mapping[str, Any]) -> None:
        """Leave out Lightning's searches for a rate and a batch size in a continued run, which has what they found."""
        kept = [c for c in self.trainer.callbacks if not isinstance(c, (LearningRateFinder, BatchSizeFinder))]  # type: ignore[attr-defined]
        if len(kept) == len(self.trainer.callbacks):  # type: ignore[attr-defined]
            return
        self.trainer.callbacks = kept  # type: ignore[attr-defined]
        stored = theirs.get(type(self.datamodule).__qualname__) or {}
        if at_once := stored.get("at_once"):
            self.datamodule.batch_size = at_once // self.trainer.world_size
        rank_zero_info("the rate and batch size that were found are kept: nothing is searched again")


def _choices(data: LightningDataModule) -> tuple[str, ...]:
    """Return the classes of a datamodule with one task; `()` for any other."""
    return tuple(getattr(data, "choices", ()))


def _datamodule(path: str) -> type[LightningDataModule]:
    """Return the class of a datamodule.

    Raises:
        BadArgument: The path leads to nothing that can be imported, or to something else.
    """
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        cure = unnamed_import(str(error)) or "run the command in the folder of the module's file"
        raise BadArgument(DATA, path, f"the path of a class ({error})", cure) from error
    if not (isinstance(found, type) and issubclass(found, LightningDataModule)):
        expected = "a LightningDataModule"
        raise BadArgument(DATA, path, expected, "name a class such as GlaucomaDataModule, or leave it out")
    return found


def ours(strategy: Any) -> Any:
    """Return the configured strategy, with Lightning's DeepSpeed strategy replaced by this package's.

    This package's also runs on CPU, gathers parameters before an evaluation, and writes complete checkpoints.
    Lightning's short names are replaced too, e.g. ``deepspeed_stage_3_offload``.
    """
    if isinstance(strategy, str) and strategy.startswith("deepspeed"):
        stage = int(re.sub(r"\D", "", strategy) or 2)
        offload: dict[str, Any] = {}
        if "offload" in strategy:
            offload = {"offload_optimizer": True, "offload_parameters": stage == 3}
        if strategy.endswith("nvme"):
            offload |= dict.fromkeys(("remote_device", "offload_params_device", "offload_optimizer_device"), "nvme")
        return Namespace(class_path=DEEPSPEED, init_args=Namespace(stage=stage, **offload))  # type: ignore[no-untyped-call]
    if isinstance(strategy, Namespace) and str(strategy.class_path).endswith(".DeepSpeedStrategy"):
        given = strategy.get("init_args") or {}
        return Namespace(class_path=DEEPSPEED, init_args=given)  # type: ignore[no-untyped-call]
    return strategy


def _loggers(configured: Any) -> list[Namespace]:
    """Return the configured loggers that have an option `save_dir`."""
    several = configured if isinstance(configured, list) else [configured]
    return [c for c in several if isinstance(c, Namespace) and "save_dir" in (c.get("init_args") or ())]


def _of_class(configured: Any, kind: type) -> list[Namespace]:
    """Return the configured objects of a class, not of classes derived from it."""
    several = configured if isinstance(configured, list) else [configured]
    return [c for c in several if isinstance(c, Namespace) and resolve_name(c.class_path) is kind]


def _modules(tree: Any) -> Iterator[str]:
    """Yield the module of every class path in a configuration."""
    if isinstance(tree, Mapping):
        if isinstance(path := tree.get("class_path"), str):
            yield path.rpartition(".")[0]
        tree = list(tree.values())
    if isinstance(tree, list):
        for value in tree:
            yield from _modules(value)


# What only `fit` does around a training: what may be trained, where it continues, and what is written at its end.


class Trained(Exception):
    """The training of a run is complete, and is not repeated."""


def refuse_untrainable(model: str) -> None:
    """Refuse to train a model whose class has no training step, before a run folder is written.

    Args:
        model: Class path of the model.

    Raises:
        BadArgument: It has none, such as `Frozen`.
    """
    if resolve_name(model).training_step is LightningModule.training_step:
        cure = (
            "name a model with parts to train, e.g. `--model small_base_lora`; `python -m lmod_train list models` "
            "lists all with their class. To ask this model without training, type `validate` in the place of `fit`"
        )
        raise BadArgument("--model", model, "a class with a training step", cure)


def continued(last: Path) -> Path | None:
    """Return the checkpoint from which a run continues, None if it has none; warns if it is not the last one.

    An unreadable last checkpoint is renamed, so that the previous one is kept until the next is complete.

    Args:
        last: Path of the run's last checkpoint.

    Raises:
        ArtifactError: There are checkpoints, but none can be read.
    """
    found = to_continue(last)
    if found == set_aside(last) and last.exists():
        rank_zero_warn(f"{last} cannot be read ({damage(last)}): continuing from the previous checkpoint, {found}")
        _put_aside(last)
    return found


def finish(trainer: Any, run: Path) -> None:
    """Save the last step, which may lie between two checkpoints, and write how long the weights were trained.

    Args:
        trainer: Trainer whose training is complete.
        run: Folder of the run.
    """
    trainer.save_checkpoint(Run(run).last)
    if trainer.is_global_zero:
        from lmod_train.report.probe_curves import draw_probes  # it loads matplotlib

        draw_probes(run)
    on = training_of(run) | _warnings(trainer)
    note(run, epochs=trainer.current_epoch, steps=trainer.global_step, trained_on=on)


@rank_zero_only
def _put_aside(last: Path) -> None:
    remove(damaged(last))
    move(last, damaged(last))


def _warnings(trainer: Any) -> dict[str, dict[str, str]]:
    """Return the entry ``warnings`` of the provenance, phrase -> sentence; empty without any."""
    found = {k: text for c in trainer.callbacks if isinstance(c, Learning) for k, text in c.warnings.items()}
    return {"warnings": found} if found else {}
