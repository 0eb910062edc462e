"""Ctrl-C at any moment is silent: exit code 130, and no traceback from the middle of an import."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import tenure as package

from .conftest import Run
from .process import started

#: Interrupts the process as Ctrl-C would, the moment that a module is looked for.
_PRESS = """
import signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Press())
sys.argv = ["tenure", "queues", "jobs:app"]
"""
_CONSOLE_SCRIPT = "from tenure.cli import main\nsys.exit(main())\n"
_MODULE = "import runpy\nrunpy.run_module('tenure', run_name='__main__')\n"


@pytest.mark.parametrize(
    "module",
    ["tenure.app", "msgspec", "tenure.cli.root", "click", "tenure.cli.lazy", "tenure.cli.commands.queues", "sqlite3"],
)
@pytest.mark.parametrize("way", [_CONSOLE_SCRIPT, _MODULE], ids=["tenure", "python -m tenure"])
def test_ctrl_c_during_an_import_is_silent(way: str, module: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", _PRESS.format(module=module) + way],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert (result.returncode, result.stdout, result.stderr.strip()) == (130, "", "")


def test_ctrl_c_while_waiting_says_that_the_message_goes_on() -> None:
    with started("submit", "jobs:app", "nap", '{"seconds": 0}', "--id", "n1", "--wait") as waiting:
        waiting.says("it waits for one")  # it is sent, and no worker serves it
        waiting.send(signal.SIGINT)
        assert waiting.ends() == 130
    assert "Stopped waiting. The message goes on. To look at it: tenure show jobs:app n1\n" in waiting.lines
    assert "Traceback" not in "".join(waiting.lines)


def test_ctrl_c_while_waiting_is_told_in_json_with_the_id(tenure: Run) -> None:
    with started("submit", "jobs:app", "nap", '{"seconds": 0}', "--id", "n1", "--wait", "--json") as waiting:
        while tenure("show", "jobs:app", "n1").exit_code:
            pass
        waiting.send(signal.SIGINT)
        assert msgspec.json.decode(waiting.output()) == {"id": "n1", "duplicate": False}
        assert waiting.ends() == 130
    error = msgspec.json.decode("".join(waiting.lines))["error"]
    assert (error["code"], error["message"]) == ("interrupted", "stopped waiting; the message goes on")
    assert (
        error["remedy"] == "Look with tenure show; without the same id or key, another submit sends a second message."
    )
