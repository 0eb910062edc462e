"""Access: one store as one identity may see it and act on it.

The caller is an `Identity`: a name, an origin, the queues it may see, with or without payloads. Every operation goes
through an `Access`. What the caller may not see does not exist for it: lists leave it out, and by name it is unknown.
An app's namespace bounds it first, then the patterns of the identity.

Made by `Operate`; used by every subject of this package.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from tenure.broker import Broker
from tenure.client.client import Client
from tenure.client.operations.overview.shared_flows import SharedFlows
from tenure.client.operator import Operator
from tenure.clock import Clock
from tenure.config import Settings
from tenure.errors import MessageNotFound
from tenure.record import Record
from tenure.rules.queue_pattern import is_pattern, matches, served_of
from tenure.state import State
from tenure.tasks.registry import Registry
from tenure.tasks.schedule import Schedule
from tenure.tasks.task import Task

#: Every queue that the app sees.
EVERY_QUEUE = ("*",)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The person or program that asks and acts."""

    #: A user and host, the name of a token, a hook's principal.
    by: str = ""
    #: How the act reached Tenure: `cli`, `api`, `http` or `dashboard`.
    triggered_by: str = "api"
    #: The address of an HTTP client. Empty: this machine.
    source: str = ""
    #: Names and patterns of queues as in the app's code. Empty: none at all.
    queues: tuple[str, ...] = EVERY_QUEUE
    #: False: bodies, results, headers and error texts are left out of every answer.
    sees_payload: bool = True


class Access:
    """One store, for one identity."""

    def __init__(
        self, client: Client, registry: Registry, identity: Identity, *, flows: SharedFlows | None = None
    ) -> None:
        """Look at the store of `client` as `identity`. `flows`: shared with others at the same store."""
        self.client = client
        self.registry = registry
        self.identity = identity
        self.flows = SharedFlows(client) if flows is None else flows
        own = "" if registry.namespace is None else f"{registry.namespace}/"
        given = identity.queues
        self._patterns = tuple(one if own and one.startswith(own) else f"{own}{one}" for one in given)
        #: Whether the patterns leave nothing out that the app sees.
        self.sees_every_queue = "*" in given

    def bound_to(self, identity: Identity) -> "Access":
        """Return the same store for another identity."""
        return Access(self.client, self.registry, identity, flows=self.flows)

    async def open(self) -> None:
        """Connect, once."""
        await self.client.open()

    # -- what it leads to --------------------------------------------------------------------------

    @property
    def broker(self) -> Broker:
        """The broker; `open` comes first."""
        return self.client.broker

    @property
    def state(self) -> State:
        """The state; `open` comes first."""
        return self.client.state

    @property
    def clock(self) -> Clock:
        """The clock of the app."""
        return self.client.clock

    @property
    def settings(self) -> Settings:
        """The settings of the app."""
        return self.registry.settings

    @property
    def selection(self) -> tuple[str, ...]:
        """Names the queues that are there for this identity: the same for all that see the same."""
        return self._patterns

    @property
    def namespace(self) -> str | None:
        """The app's namespace."""
        return self.registry.namespace

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The app's tasks by name; none where only a URL is known."""
        return self.registry.tasks

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The app's schedules by name."""
        return self.registry.schedules

    @property
    def sees_payload(self) -> bool:
        """Whether bodies, results, headers and error texts are shown."""
        return self.identity.sees_payload

    def operator(self) -> Operator:
        """Acts and records under this identity's name."""
        one = self.identity
        return self.client.operator(by=one.by, triggered_by=one.triggered_by, source=one.source)

    # -- what is there for this identity -----------------------------------------------------------

    def sees(self, queue: str) -> bool:
        """Whether a queue, as the broker knows it, is there for this identity."""
        return self.registry.sees(queue) and (self.sees_every_queue or matches(queue, self._patterns))

    def sees_any(self, queues: Collection[str]) -> bool:
        """Whether one of these names and patterns can match a queue that this identity sees."""
        return any(self._may_mean(one) for one in queues)

    def _may_mean(self, queue: str) -> bool:
        if not is_pattern(queue):
            return self.sees(queue)
        if not self.sees_every_queue:
            return any(matches(one, [queue]) or matches(queue, [one]) for one in self._patterns)
        return self.namespace is None or self.sees(queue)

    def of_theirs(self, queues: Sequence[str]) -> tuple[str, ...]:
        """The names and patterns of a worker that can match a queue that this identity sees."""
        return tuple(one for one in queues if self._may_mean(one))

    def sees_all(self, queues: Collection[str]) -> bool:
        """Whether this identity sees every queue that these names and patterns can match."""
        own = () if self.namespace is None else (f"{self.namespace}/*",)
        patterns = (self._patterns, own) if own and not self.sees_every_queue else (own or self._patterns,)
        # A `*` is never part of a queue's name: a pattern that matches another one as a text matches all that it does.
        return all(matches(one, some) for one in queues for some in patterns)

    async def reachable(self, wanted: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the wanted queues (full names and patterns) that this identity sees.

        None: every queue there is. Empty: none, which is not the same.
        """
        if self.sees_every_queue:
            everything = None if self.namespace is None else (f"{self.namespace}/*",)
            return tuple(wanted) if wanted else everything
        if not wanted:
            return self._patterns
        names = [one for one in wanted if not is_pattern(one) and self.sees(one)]
        patterns = [one for one in wanted if is_pattern(one)]
        if patterns:
            names += [one for one in served_of(await self.broker.queues(), patterns) if self.sees(one)]
        return tuple(dict.fromkeys(names))

    async def record(self, id: str, queue: str | None = None) -> Record | None:
        """Return the record of a message. None: there is none, or this identity does not see it."""
        try:
            record = await self.client.record(id, queue)
        except MessageNotFound:  # of another namespace: only callers of this app learn that it exists
            if self.sees_every_queue:
                raise
            return None
        return None if record is None or not self.sees(record.queue) else record
