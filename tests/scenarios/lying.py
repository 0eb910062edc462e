"""`tenure`, in a process whose wall clock jumps by whole hours: by as many seconds as the file `clock` says.

The file lies in the scenario's folder and is read each time somebody asks for the time. Run as
`python -m scenarios.lying worker …`.
"""

import os
import time
from pathlib import Path

_time = time.time  # the clock that is lied about


def lie() -> float:
    """The wall time that this process is made to believe."""
    text = (Path(os.environ["SCENARIO"]) / "clock").read_text()
    return _time() + float(text or 0.0)


if __name__ == "__main__":
    time.time = lie
    from tenure.cli import main

    main()
