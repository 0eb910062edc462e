"""The process of the demo's server: `python -m tenure.cli.commands.demo.web_process PORT`. Started by `web.py`.

It is `tenure serve` for the demo's app, which ends when the demo is gone, also if that was killed.
"""

import os
import signal
import sys
import threading

from tenure.cli.commands.demo.tasks import PARENT_VARIABLE
from tenure.cli.root import root

_LOOK_SECONDS = 1.0


def _end_with(parent: int) -> None:
    """Ask this process to stop as soon as its parent is gone."""
    gone = threading.Event()
    while os.getppid() == parent:
        gone.wait(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    watch = threading.Thread(target=_end_with, args=(int(os.environ[PARENT_VARIABLE]),), daemon=True)
    watch.start()
    root.main(["serve", "tenure.cli.commands.demo.served:app", "--port", sys.argv[1], "--json"], prog_name="tenure")
