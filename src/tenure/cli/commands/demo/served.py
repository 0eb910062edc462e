"""The demo's app for its worker processes: `tenure worker tenure.cli.commands.demo.served:app`."""

import os
from pathlib import Path

from tenure.cli.commands.demo.tasks import FOLDER_VARIABLE, build
from tenure.errors import ConfigurationError

if FOLDER_VARIABLE not in os.environ:
    raise ConfigurationError(f"this app belongs to `tenure demo`, which sets {FOLDER_VARIABLE}")

app = build(Path(os.environ[FOLDER_VARIABLE]))
