"""Options that are printed from source text are those of the classes."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

from lmod_train import cli
from lmod_train.cli.catalogue import options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.listing import class_path_of, options_text
from lmod_train.cli.names import GROUPS
from lmod_train.core.errors import BadArgument
from lmod_train.data.sources.discovery import source_classes

MODELS = ("llava_med_lora", "retfound_faithful", "cnn", "linear_probe", "scripted")


def sources() -> dict[str, str]:
    """Return the class path of each source; looking each up by its name reads every config of a model."""
    return {name: f"{kind.__module__}.{kind.__qualname__}" for name, kind in source_classes().items()}


def imported(path: str) -> type:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_options_are_those_of_the_class_with_their_defaults():
    paths = sorted({*sources().values(), *map(class_path_of, MODELS), *GROUPS.values()})
    assert len(paths) > 20
    for path in paths:
        parameters = {k: p for k, p in inspect.signature(imported(path)).parameters.items() if k != "root"}
        options = {option.name: option for option in options_of(path) if "." not in option.name}
        assert list(options) == list(parameters), path
        for name, parameter in parameters.items():
            assert (options[name].default is None) == (parameter.default is parameter.empty), (path, name)
            if isinstance(parameter.default, int | float | str | None):
                assert options[name].default == repr(parameter.default), (path, name)


def test_every_option_of_a_source_is_described():
    described = {name: options_of(path) for name, path in sorted(sources().items())}
    assert class_path_of("refuge") == sources()["refuge"]
    assert [(n, option.name) for n, options in described.items() for option in options if not option.description] == []


def test_parts_are_listed_with_their_own_options_and_choices_in_braces():
    text = options_text("llava_med_lora")
    assert "  optimisation.lr: float, default 0.0002\n      Peak learning rate of the adapters" in text
    assert "  lora.rank: int, default 128\n" in text
    assert "  loss_over: {answer, token}, default 'answer'\n" in text
    assert "  checkpoint: str, required\n" in text


def test_a_default_that_is_a_constant_is_shown_by_its_value():
    assert "aliases: Mapping[str, str], default {'Iris': 'iris', 'Pupila': 'pupil'," in options_text("cau001")


def test_groups_show_our_defaults_where_they_are_not_lightnings():
    text = options_text("checkpoint")
    assert f"every_n_train_steps: Optional[int], default {DEFAULTS['checkpoint']['every_n_train_steps']}\n" in text
    assert "num_sanity_val_steps: Optional[int], default 0\n" in options_text("trainer")


def test_a_class_without_options_is_said_to_have_none():
    assert options_text("refuge") == "lmod_train.data.sources.refuge.Refuge has no options."


@pytest.mark.parametrize(
    ("name", "cure"), [("idird", "list options idrid"), ("lmod_train.data.sources.idrid.Idird", "list sources")]
)
def test_an_unknown_name_is_refused_with_the_next_command(name: str, cure: str):
    with pytest.raises(BadArgument, match=cure):
        options_text(name)


@pytest.mark.parametrize("arguments", [["options"], ["sources", "idrid"]])
def test_a_name_belongs_to_options_alone(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.main(["list", *arguments]) == 2
    assert "list options idrid" in capsys.readouterr().err


def test_nothing_is_imported():
    code = (
        "import sys; from lmod_train import cli; cli.main(['list', 'options', 'llava_med_lora']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "lightning", "lmod_train.models.modules.conversation"} & set(
        done.stdout.splitlines()[-1].split()
    )
