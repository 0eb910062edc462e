"""How a worker works. Made by `app.worker` from settings and arguments; read by `worker.py` and `path.py`."""

import msgspec

from tenure.broker import SweepRequest


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    concurrency: int = 10
    queues: tuple[str, ...] = ()
    name: str = ""
    #: An identity that a manager gives to one process at a time. Empty: none.
    slot: str = ""
    lease_seconds: float = 30.0
    #: After SIGTERM: how long handlers may go on before their messages are given back.
    grace_seconds: float = 30.0
    sweep: SweepRequest = SweepRequest()
    #: How often it says that it lives, looks for the dead, and reads the board.
    liveness_seconds: float = 1.0
    #: How long the journal remembers.
    journal_keep_seconds: float = 7 * 86_400.0
    #: False: everything in the caller's loop, for virtual time.
    own_thread: bool = True
    #: False: nothing is learned from how long runs take, and what others learned is not asked for.
    learning: bool = True
    #: False: nothing is counted and no figures are stored, as measurements need it.
    statistics: bool = True
