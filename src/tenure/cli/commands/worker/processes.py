"""`tenure worker --processes N`: several worker processes under one supervisor. Used by `worker.py`.

The parent never imports the app: its children do, and name the place where the messages are.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING

from tenure.cli.commands.worker.outside import exporting_from, platforms_of, watching
from tenure.cli.service_manager import ServiceManager
from tenure.cli.terminal.output import plural, say_json
from tenure.clock import SYSTEM_CLOCK
from tenure.config import settings_from

if TYPE_CHECKING:
    from tenure.monitoring.metrics.endpoint import MetricsEndpoint
    from tenure.runtime.supervisor.supervisor import Supervisor

logger = logging.getLogger("tenure.cli")


def supervise(  # noqa: PLR0913 - one for each option
    words: Sequence[str], *, processes: int, name: str, slot: str, keeps_leases: bool, until_empty: bool,
    as_json: bool, metrics: str | None, platforms: Sequence[str] = (), emf: str | None = None,
) -> int:  # fmt: skip
    """Run `processes` children with these arguments until stopped; returns the exit code.

    `metrics`: where to serve theirs; None: as the settings say. `platforms`: managers that hear what all of them
    hold. `emf`: where their metrics are written.
    """
    from tenure import assembly
    from tenure.runtime import event_loop
    from tenure.runtime.supervisor.supervisor import Supervisor

    def words_of(number: int) -> list[str]:
        # Each in a slot of its own: a newer worker in the same slot is proof that the older one is dead.
        slot_words = ["--slot", f"{slot}/{number}"] if slot else []
        return [*words, *(["--name", f"{name}-{number}"] if name else []), *slot_words]

    manager = ServiceManager.from_environment()
    where = platforms_of(platforms, of_supervisor=True, has_supervisor=False)

    async def run() -> int:
        supervisor = Supervisor(
            words_of,
            processes=processes,
            clock=SYSTEM_CLOCK,
            connect=lambda url: assembly.connect(url, clock=SYSTEM_CLOCK),
            keeps_leases=keeps_leases,
            until_done=until_empty,
        )
        endpoint = _endpoint(supervisor, metrics)
        if endpoint is not None:
            await endpoint.start()
            logger.info("metrics are at %s", endpoint.url)
        supervisor.listen()
        telling = [
            asyncio.create_task(told) for told in _told(supervisor, manager, plural(processes, "process", "processes"))
        ]
        async with (
            watching(where, lambda: supervisor.held, None, SYSTEM_CLOCK),
            exporting_from(emf, supervisor.metrics.collect),
        ):
            exit_code = await supervisor.run()
        for told in telling:
            told.cancel()
        supervisor.ignore()
        if endpoint is not None:
            await endpoint.stop()
        deaths = f"after {plural(supervisor.deaths, 'death')}" if supervisor.deaths else "none had to be replaced"
        logger.info("all processes have stopped; %s", deaths)
        if as_json:
            say_json(
                {
                    "owners": supervisor.owners,
                    "counts": dict(supervisor.counts),
                    "given_back": dict(supervisor.given_back),
                    "deaths": supervisor.deaths,
                }
            )
        return exit_code

    return event_loop.run_supervisor(run())


def _told(supervisor: "Supervisor", manager: ServiceManager, processes: str) -> list[Coroutine[None, None, None]]:
    """What the service manager hears: that it works, that it lives, that it stops."""

    async def start() -> None:
        await supervisor.worked()
        manager.ready(f"runs {processes}")

    async def stop() -> None:
        await supervisor.asked_to_stop()
        manager.stopping()

    return [start(), stop(), manager.watch(lambda: asyncio.sleep(0))]


def _endpoint(supervisor: "Supervisor", metrics: str | None) -> "MetricsEndpoint | None":
    """Where the metrics of all of them are served, if they are."""
    from tenure.monitoring.metrics.address import address_of
    from tenure.monitoring.metrics.endpoint import MetricsEndpoint

    settings = settings_from()
    served = settings.metrics if metrics is None else metrics
    if not served:
        return None
    return MetricsEndpoint(address_of(served), supervisor.metrics.collect, token=settings.metrics_token)
