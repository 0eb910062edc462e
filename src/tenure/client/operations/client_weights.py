"""Weights of clients: how large the part of each in the time of workers is (`rules/fair_turns.py`)."""

import msgspec

from tenure.client.operations.clients import ClientOperations
from tenure.errors import BadArgument
from tenure.rules.client_weights import check_weight


class WeightChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the weight of a client."""

    client: str
    queue: str
    #: False: it was so before.
    changed: bool
    #: What an operator set. None: nothing; what `TENURE_CLIENT_WEIGHTS` of each worker says counts, else 1.
    weight: float | None


class ClientWeightOperations(ClientOperations):
    """Operations on the weights of clients."""

    async def weigh_client(self, name: str, weight: float, *, must_exist: bool = True) -> WeightChange:
        """Give a client so many times the work time of one of weight 1, until it is cleared. Raises `UnknownQueue`.

        Workers that serve several clients notice within a second or so.

        - `weight`: From 0.01 to 100; of clients without one it is 1.
        - `must_exist`: False: also a client that is not known yet.
        """
        try:
            wanted = check_weight(weight)
        except BadArgument as error:
            raise BadArgument(f"{error}; nothing was changed") from error
        access = await self._opened()
        queue = await self._queue_of(access, name, must_exist=must_exist)
        changed = await access.operator().weigh_client(queue, wanted)
        return WeightChange(client=name, queue=queue, changed=changed, weight=wanted)

    async def clear_weight(self, name: str) -> WeightChange:
        """Remove the weight that an operator set. Raises `UnknownQueue`."""
        access = await self._opened()
        queue = await self._queue_of(access, name, "Nothing was cleared")
        changed = await access.operator().clear_weight(queue)
        return WeightChange(client=name, queue=queue, changed=changed, weight=None)
