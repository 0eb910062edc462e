"""The options of a worker. Made by `app.worker` from settings and arguments; read by `worker.py` and `pipeline.py`."""

import msgspec

from tenure.broker import SweepRequest
from tenure.limit import Limit


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    concurrency: int = 10
    queues: tuple[str, ...] = ()
    name: str = ""
    #: An identity that a process manager gives to one process at a time. Empty: none.
    slot: str = ""
    lease_seconds: float = 30.0
    #: After SIGTERM: how long handlers may go on before their messages are given back.
    grace_seconds: float = 30.0
    sweep: SweepRequest = SweepRequest()
    #: How large the part of each client in the worker's time is (`rules/client_weights.py`), unless an operator says.
    client_weights: dict[str, float] = {}
    #: The limit of every client's queue that has no other (`quota.py`).
    client_limit: Limit = Limit()
    #: How often it says that it lives, looks for the dead, and reads the board.
    liveness_seconds: float = 1.0
    #: How long the journal remembers.
    journal_keep_seconds: float = 7 * 86_400.0
    #: False: everything in the caller's loop, for virtual time.
    own_thread: bool = True
    #: False: nothing is learned from how long runs take, and what others learned is not asked for.
    learning: bool = True
    #: The part of all messages whose every step leaves an event. A task may have its own.
    detail: float = 0.0
    #: False: nothing is counted and no figures are stored, as measurements need it.
    statistics: bool = True
    #: False: what is counted is not stored; it can only be scraped.
    tallies: bool = True
    #: This many queues and as many tasks have labels of their own in its metrics.
    label_values: int = 100

    @property
    def stores_figures(self) -> bool:
        """Whether what is counted is stored."""
        return self.statistics and self.tallies
