"""A sound set-up, into which a test plants one mistake: then the doctor finds that, and nothing else."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator

from tenure import Tenure
from tenure.adapters.sqlite.checkpoint import check_library
from tenure.client.operations.doctor.diagnosis import Diagnosis, Outcome
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.config import Settings
from tenure.finding import Finding

#: With a worker: a sweep is missing after ten seconds, for which no machine should stand still.
SETTINGS = Settings()
#: Without one, so that a test need not wait for that.
UNSWEPT = Settings(sweep_interval_seconds=0.5)
#: What is wrong with this machine's own SQLite, and no test can help.
OF_THIS_MACHINE = {one.id for one in check_library(sqlite3.sqlite_version_info, "")}


def app_at(url: str, settings: Settings = SETTINGS, clock: Clock = SYSTEM_CLOCK) -> Tenure:
    """An app with one task."""
    app = Tenure(url, settings=settings, clock=clock)

    @app.task(queue="slow")
    async def nap() -> None:
        pass

    return app


@contextlib.asynccontextmanager
async def working(app: Tenure) -> AsyncIterator[Tenure]:
    """The app with a worker that has run a message."""
    async with app, app.worker():
        await app.submit(app.tasks["nap"].bind())
        yield app


async def diagnosed(url: str, settings: Settings = SETTINGS, clock: Clock = SYSTEM_CLOCK) -> Diagnosis:
    """The diagnosis of a sound app with a worker at this URL."""
    async with working(app_at(url, settings, clock)) as app:
        return await app.operate.doctor()


def of_set_up(diagnosis: Diagnosis) -> list[Finding]:
    """The findings, but for what is this machine's own; every check could be carried out."""
    assert [one for one in diagnosis.checks if one.outcome is Outcome.FAILED] == []
    return [one for one in diagnosis.findings if one.id not in OF_THIS_MACHINE]


def only(diagnosis: Diagnosis) -> Finding:
    """The one finding, which says what was seen and what to do."""
    every = of_set_up(diagnosis)
    assert len(every) == 1, every
    (found,) = every
    assert found.subject
    assert found.evidence
    assert found.remedy
    return found
