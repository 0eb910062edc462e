"""`tenure`, in a process that may write no file beyond a size: to it the disk is full.

The limit is what the file `limit` in the scenario's folder says, in bytes; while there is no such file, there
is no limit. It works for every user, on Linux and macOS. Run as `python -m scenarios.starving worker …`.
"""

import os
import resource
import threading
import time
from pathlib import Path


def follow(path: Path) -> None:
    """Set the limit as the file says it now."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        limit = int(path.read_text())
    except (FileNotFoundError, ValueError):
        limit = most
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


def follow_for_ever(path: Path) -> None:
    """In a thread of its own."""
    while True:
        follow(path)
        time.sleep(0.01)


if __name__ == "__main__":
    file = Path(os.environ["SCENARIO"]) / "limit"
    follow(file)
    threading.Thread(target=follow_for_ever, args=(file,), daemon=True).start()
    from tenure.cli import main

    main()
