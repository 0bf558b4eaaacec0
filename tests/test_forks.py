"""A fork of the process with torch imported behaves as a command that a shell starts."""

import os
import signal
import time

import pytest
from torch.multiprocessing import ProcessRaisedException

from tests import forks


def test_status_outputs_folder_environment_and_arguments_are_those_of_a_command(tmp_path):
    code = (
        "import os, sys, tempfile; print(os.getcwd(), os.environ['A'], sys.argv, __name__, tempfile.gettempdir())\n"
        "print(1, file=sys.stderr), exit(3)"
    )
    own = {**os.environ, "A": "a", "TMPDIR": str(tmp_path)}
    done = forks.run(["-c", code, "b"], tmp_path, own)
    assert (done.returncode, done.stderr) == (3, "1\n")
    assert done.stdout == f"{tmp_path} a ['-c', 'b'] __main__ {tmp_path}\n"
    assert "A" not in os.environ


def test_an_error_is_printed_and_is_status_1(tmp_path):
    done = forks.run(["-c", "1 / 0"], tmp_path)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_a_module_runs_as_the_main_module_and_its_exit_functions_are_called(tmp_path):
    (tmp_path / "mine.py").write_text("import atexit, sys\natexit.register(print, 'end')\nprint(__name__, sys.argv[1])")
    assert forks.run(["-m", "mine", "x"], tmp_path).stdout == "__main__ x\nend\n"
    shown = forks.run(["-m", "lmod_train", "list", "nothing"], tmp_path)
    assert shown.returncode == 2 and shown.stderr.startswith("error: ")


def test_torch_is_imported_already_and_the_tests_are_no_parent_of_its_workers(tmp_path):
    code = "import multiprocessing, sys; print('torch' in sys.modules, multiprocessing.parent_process())"
    assert forks.run(["-c", code], tmp_path).stdout == "True None\n"


def test_it_can_be_killed(tmp_path):
    part = forks.start(["-c", "import time; print('begun', flush=True); time.sleep(60)"], tmp_path)
    while not part.printed():
        time.sleep(0.01)
    os.kill(part.process.pid, signal.SIGKILL)
    done = part.ended()
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "begun\n")


def noted(rank, folder, fail):
    if fail:
        raise ZeroDivisionError(rank)
    (folder / str(rank)).touch()


def test_ranks_end_together_and_their_errors_are_raised(tmp_path):
    forks.ranks(noted, tmp_path, False)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["0", "1"]
    with pytest.raises(ProcessRaisedException, match="ZeroDivisionError"):
        forks.ranks(noted, tmp_path, True)
