"""Telemetry: what an app tells a tracing system, as a port. Nothing listens unless a program asks for it.

`otel/` implements it with OpenTelemetry: `instrument(app)`. The client, the worker and the deliverer call it, each
through one attribute that is None as a rule, so that what is not asked for costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tenure.message import Message, Outgoing
from tenure.middleware import Middleware
from tenure.monitoring.metrics.sample import Sample

#: The header of a message, and of an HTTP request, that carries the context of a trace (W3C Trace Context).
TRACEPARENT = "traceparent"


class Posting(Protocol):
    """One call of a webhook under way."""

    #: Headers for the receiver.
    headers: Mapping[str, str]

    def answered(self, status: int | None, error: str) -> None:
        """Say what came of it. None: there was no answer."""
        ...


class Telemetry(Protocol):
    """Follows messages from their sender to their handler and beyond."""

    def sending(self, batch: Sequence[Outgoing]) -> AbstractContextManager[list[Outgoing]]:
        """Around a send: yields the messages with the context in their headers."""
        ...

    def handing_on(self, out: Outgoing, parent: Message) -> Outgoing:
        """What a handler hands on, with the context of its run."""
        ...

    def received(self, messages: Sequence[Message], seconds: float) -> None:
        """A lease call that took so long has brought these."""
        ...

    def middleware_for(self, message: Message, middleware: Sequence[Middleware]) -> Sequence[Middleware]:
        """The middleware around the run of a message: without ours where its trace is not recorded.

        Called in the run's own task; the message's context is current there from here on.
        """
        ...

    def posting(self, message: Message, endpoint: str) -> AbstractContextManager[Posting]:
        """Around the call of a webhook."""
        ...

    def watch(self, read: Callable[[], list[Sample]]) -> Callable[[], None]:
        """Export the samples that `read` returns, on the loop that calls this. Returns what ends it."""
        ...


def sampled_context(message: Message) -> str | None:
    """The context of a trace that a message carries, if the trace is recorded."""
    context = message.headers.get(TRACEPARENT)
    return context if context is not None and is_sampled(context) else None


def is_sampled(context: str) -> bool:
    """Whether a context says that its trace is recorded: the lowest bit of its last two digits."""
    return context[-1:] in _ODD


_ODD = frozenset("13579bdfBDF")
