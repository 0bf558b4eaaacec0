"""Ctrl-C ends a process also where Python or a library loses the exception."""

import signal
import subprocess
import sys

import pytest

from lmod_train.core.interruption import AGAIN

BEGIN = """
import sys, time
from lmod_train.core.interruption import Interruption
interruption = Interruption()
interruption.listen()
def wait():
    print("ready", flush=True)
    time.sleep(0.5)
class Lost:
    def __del__(self):
        wait()
def work():
    while True:
        time.sleep(0.01)
try:
"""
END = """
except KeyboardInterrupt:
    print("ended", interruption.pressed, flush=True)
    interruption.end()  # as commands do: Python's own end would let a press that comes late kill the process
"""
PLACES = {
    "a finaliser": "    Lost(); work()",
    "a generator's finaliser": """    def one():
        try: yield
        finally: wait()
    g = one(); next(g); del g; work()""",
    "an except clause": "    try: wait()\n    except BaseException: pass\n    work()",
    "plain code": "    wait(); work()",
}


@pytest.mark.parametrize("presses", [1, 2])
@pytest.mark.parametrize("place", PLACES)
def test_an_interruption_that_is_lost_is_raised_again(place, presses):
    command = [sys.executable, "-c", BEGIN + PLACES[place] + END]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    for _ in range(presses):
        child.send_signal(signal.SIGINT)
    printed, errors = child.communicate(timeout=30 * AGAIN)
    assert printed == "ended True\n" and child.returncode == 0
    assert errors == "", "no traceback of what Python dropped"


def test_other_exceptions_that_python_drops_are_still_printed():
    lost = "class Lost:\n    def __del__(self): raise ValueError('mine')\n"
    code = BEGIN.partition("def wait")[0] + lost + "Lost()"
    assert "ValueError: mine" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
