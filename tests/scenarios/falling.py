"""An app that does not get through its import: as the file `fall` in the scenario's folder says."""

import os
import signal

from .served import app
from .tasks import folder

__all__ = ["app"]

match (folder() / "fall").read_text():
    case "raise":
        raise ValueError("this module falls")
    case "exit":
        os._exit(3)
    case "kill":
        os.kill(os.getpid(), signal.SIGKILL)
