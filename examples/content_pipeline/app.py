"""The app that all four services share: one URL, so that the same code runs on SQLite, Redis, SQS and Azure."""

import os

from tenure import Tenure

from .rehearsal.pace import noted
from .settings import Settings

settings = Settings.from_environment()
app = Tenure(os.environ.get("TENURE_URL", "sqlite:///content-pipeline.db"))

if settings.run_log is not None:
    app.middleware(noted(settings.run_log))
