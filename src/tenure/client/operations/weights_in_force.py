"""The weights of clients as people see them: what an operator set, else the setting of the process that is asked.

Used by `clients.py`; what a worker goes by is `runtime/background/client_shares.py`.
"""

from collections.abc import Iterable

from tenure.client.operations.access import Access
from tenure.notice import Post
from tenure.rules.client_queue import client_of_queue
from tenure.rules.client_weights import in_force, operator_weights, weight_of, weights_from


class WeightsInForce:
    """What is known of the weights of all clients, of one moment."""

    def __init__(self, access: Access, posts: Iterable[Post]) -> None:
        """`posts`: of the board."""
        self._operators = operator_weights(posts)
        self._weights = in_force(weights_from(access.registry.in_force.client_weights), self._operators)

    @property
    def queues(self) -> set[str]:
        """The queues of clients for which an operator set a weight."""
        return {queue for queue in self._operators if client_of_queue(queue) is not None}

    def of(self, queue: str) -> float:
        """The weight of the client with that queue."""
        return weight_of(queue, self._weights)
