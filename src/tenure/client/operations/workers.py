"""Workers: who is alive, and what each holds."""

import msgspec

from tenure.client.operations.operations import Operations


class HeldMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a worker holds."""

    id: str
    queue: str
    #: None: not known, as of a message that Tenure did not send.
    task: str | None


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that is alive."""

    id: str
    name: str
    host: str
    pid: int
    started_at: float
    queues: tuple[str, ...]
    concurrency: int
    holds: tuple[HeldMessage, ...]
    #: Seconds since it was last heard.
    silent_seconds: float = 0.0
    slot: str = ""


class GoneWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is proven gone; a sweep returns what it held."""

    id: str
    proof: str


class WorkerList(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody on the roster."""

    workers: tuple[WorkerStatus, ...]
    gone: tuple[GoneWorker, ...]


class WorkerOperations(Operations):
    """What can be asked of workers."""

    async def workers(self) -> WorkerList:
        """Return the workers that are alive with what each holds, and those that are proven gone."""
        raise NotImplementedError
