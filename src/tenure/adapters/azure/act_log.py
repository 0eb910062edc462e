"""The audit log in the table: acts in one order, in a part of their own.

    acts   e:<seq>   an act
           last      the newest place (`numbered.py`)

An act is one request. The newest are read first: places have no gaps, so a page is a range of them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.act import Act, StoredAct
from tenure.adapters.azure import retention
from tenure.adapters.azure.numbered import NumberedRows, number_of, pieces
from tenure.adapters.azure.store import Store

_ACTS = "acts"
_encode = msgspec.json.Encoder().encode
_act = msgspec.json.Decoder(Act).decode


class AzureActLog:
    """Acts in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._numbered = NumberedRows(store)

    async def record(self, acts: Sequence[Act]) -> None:
        """Keep acts, in this order."""
        fields: list[dict[str, Any]] = [{"Act": _encode(act), "At": act.at} for act in acts]
        for some in pieces(fields):
            await self._numbered.append(_ACTS, some)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The newest acts before place `before` (0: of all), newest first."""
        end = before or await self._numbered.last(_ACTS) + 1
        after = max(0, end - 1 - limit)
        found = await self._numbered.read(_ACTS, after, end - 1 - after) if end > 1 + after else []
        return [StoredAct(number_of(row), _act(row.fields["Act"])) for row in reversed(found) if number_of(row) < end]

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old acts; how many."""
        before = self._store.timeline.wall() - older_than_seconds
        return await retention.drop(self._store, self._numbered.older_than(_ACTS, before))
