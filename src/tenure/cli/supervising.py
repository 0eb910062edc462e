"""`tenure worker --processes N`: several worker processes under one supervisor. Used by `worker.py`.

The parent never imports the app: its children do, and name the place where the messages are.
"""

import asyncio
import logging
from collections.abc import Sequence

from tenure.cli.output import plural, say_json
from tenure.clock import SYSTEM_CLOCK

logger = logging.getLogger("tenure.cli")


def supervise(
    words: Sequence[str], *, processes: int, name: str, slot: str, keeps_leases: bool, until_empty: bool, as_json: bool
) -> int:
    """Run `processes` children of these words until told to stop; the exit code."""
    from tenure import assembly
    from tenure.runtime.supervisor import Supervisor

    def words_of(number: int) -> list[str]:
        # Each in a slot of its own: a newer worker in the same slot is proof that the older one is dead.
        slot_words = ["--slot", f"{slot}/{number}"] if slot else []
        return [*words, *(["--name", f"{name}-{number}"] if name else []), *slot_words]

    async def run() -> int:
        supervisor = Supervisor(
            words_of,
            processes=processes,
            clock=SYSTEM_CLOCK,
            connect=lambda url: assembly.connect(url, clock=SYSTEM_CLOCK),
            keeps_leases=keeps_leases,
            until_done=until_empty,
        )
        supervisor.listen()
        exit_code = await supervisor.run()
        supervisor.ignore()
        deaths = f"after {plural(supervisor.deaths, 'death')}" if supervisor.deaths else "none had to be replaced"
        logger.info("all processes have stopped; %s", deaths)
        if as_json:
            say_json({
                "owners": supervisor.owners,
                "counts": dict(supervisor.counts),
                "given_back": dict(supervisor.given_back),
                "deaths": supervisor.deaths,
            })  # fmt: skip
        return exit_code

    return asyncio.run(run())
