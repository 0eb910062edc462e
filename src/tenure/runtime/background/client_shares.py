"""Client shares: the weights of clients by which this worker shares out its time, from its settings and the board.

Told by `board_watch.py`, which reads the board anyway; tells the worker's `FairTurns`.
"""

from collections.abc import Callable, Mapping, Sequence

from tenure.notice import Post
from tenure.rules.client_weights import in_force, operator_weights


class ClientShares:
    """The weights in force, as far as this worker knows."""

    def __init__(self, settings: Mapping[str, float], *, on_changed: Callable[[dict[str, float]], None]) -> None:
        """Begin with the weights of the settings. `on_changed` gets all weights whenever one has changed."""
        self._settings = settings
        self._on_changed = on_changed
        self._told: dict[str, float] = {}

    def read_posts(self, posts: Sequence[Post]) -> None:
        """What the board says now."""
        weights = in_force(self._settings, operator_weights(posts))
        if weights != self._told:
            self._told = weights
            self._on_changed(weights)
