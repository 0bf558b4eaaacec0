"""A command of Lightning on the phantoms, run in this process."""

import pytest

from lmod_train.cli import experiment
from lmod_train.core.shipped import configs_folder

QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]


@pytest.fixture
def command(curated, tmp_path, monkeypatch):
    """Run one command on the phantoms; relative paths are below a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(name, config, *options):
        chosen = ["--config", str(configs_folder() / config), "--data.curated", str(curated), *QUIET]
        experiment.run([name, *chosen, *map(str, options)])

    return command
