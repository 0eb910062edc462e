"""Operations on a harness: `Operate` over a broker and a state that the harness has opened. For conformance suites."""

from collections.abc import Mapping
from typing import Any

from tenure.app import Tenure
from tenure.broker import Broker
from tenure.client.client import Client
from tenure.client.operations.access import Access, Identity
from tenure.client.operations.operate import Operate
from tenure.tasks.schedule import Schedule
from tenure.tasks.task import Task
from tenure.testing.harness import Harness


class OpenClient(Client):
    """A client of a store that other code opens and closes."""

    async def open(self) -> None:
        """Do nothing: the store is open already."""


def operate_on(
    harness: Harness,
    *,
    broker: Broker | None = None,
    tasks: Mapping[str, Task[..., Any]] | None = None,
    schedules: Mapping[str, Schedule] | None = None,
) -> Operate:
    """Operate on what the harness holds. `broker`: that one instead of the harness' own."""
    app = Tenure("memory://", clock=harness.clock)
    app.tasks.update(tasks or {})
    app.schedules.update(schedules or {})
    client = OpenClient(broker or harness.broker, harness.state, harness.clock, client="default", namespace=None)
    return Operate(Access(client, app, Identity(by="the test")))
