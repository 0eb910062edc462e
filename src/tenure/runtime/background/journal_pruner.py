"""Pruning: removes old events, acts and key-values, so that they do not grow for ever.

Events go by the setting, acts after 400 days (`act.KEPT_SECONDS`), each key-value by its own expiry. Runs beside the
heartbeat.

Of all workers only the one that has the turn prunes: on a cloud's table each read costs money.
"""

import asyncio
import logging
import os

from tenure.act import KEPT_SECONDS
from tenure.errors import BrokerError
from tenure.state import State
from tenure.text.plural import plural

logger = logging.getLogger("tenure.pruning")

#: How often to look. Often enough that one look has little to do.
PRUNE_SECONDS = 600.0
#: What the turn is called. It lasts a little longer than the time between two looks, so that it stays where it is.
TURN = "prune-journal"
_TURN_SECONDS = 1.5 * PRUNE_SECONDS


class JournalPruner:
    """Prunes the journal, the audit log and the key-values of one store."""

    def __init__(self, state: State, keep_seconds: float) -> None:
        """Keep events for `keep_seconds`."""
        self._state = state
        self._keep_seconds = keep_seconds
        self._token = os.urandom(8).hex()

    async def run(self) -> None:
        """Prune whenever it is our turn, until cancelled."""
        while True:
            await asyncio.sleep(PRUNE_SECONDS)
            try:
                if not await self._state.board.take_turn(TURN, self._token, _TURN_SECONDS):
                    continue
                gone = await self._state.journal.prune(self._keep_seconds)
                acts = await self._state.acts.prune(KEPT_SECONDS)
                documents = await self._state.key_values.prune()
            except BrokerError as error:
                logger.warning("the journal was not pruned (%s); the next try is in %g s", error, PRUNE_SECONDS)
            else:
                logger.debug(
                    "removed %s, %s and %s",
                    plural(gone, "old event"),
                    plural(acts, "old act"),
                    plural(documents, "expired key-value"),
                )
