"""Faults: what a kit shall let go wrong, each once, and whether it happened.

A fault waits until its moment comes in a handler of its task, strikes, and is done. One that never struck makes the
test fail at its end: it proved nothing.

Armed by `kit.py`; struck by `crew.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

#: When a worker dies: after the handler returned and before that is reported, or while it runs.
When = Literal["returned", "running"]


class KitError(AssertionError):
    """The test cannot go on as it is written, or proves nothing; the sentence says why."""


class FaultNotStruck(KitError):
    """A fault was armed and never happened."""


@dataclass(kw_only=True)
class InjectedFault:
    """Something that is to go wrong once."""

    #: As the test wrote it.
    said: str
    #: The task whose messages it may strike. None: any.
    task: str | None = None
    has_struck: bool = False


@dataclass(kw_only=True)
class Crash(InjectedFault):
    """The worker dies."""

    when: When = "returned"
    #: For "running": this many virtual seconds after the handler began.
    after_seconds: float = 0.0


@dataclass(kw_only=True)
class LostAck(InjectedFault):
    """The reply to an ack is lost."""

    carried_out: bool = True


@dataclass(kw_only=True)
class LostLease(InjectedFault):
    """The broker lends the message to others while its handler runs."""


@dataclass(kw_only=True)
class Outage(InjectedFault):
    """Broker and state cannot be reached for a while."""

    seconds: float


F = TypeVar("F", bound=InjectedFault)


class Faults:
    """Everything that a test armed, in order."""

    def __init__(self) -> None:
        """Begin with no fault armed."""
        self._armed: list[InjectedFault] = []

    def arm(self, fault: InjectedFault) -> None:
        """Let this go wrong at the next occasion."""
        self._armed.append(fault)

    def strike(self, kind: type[F], tasks: Iterable[str], when: When | None = None) -> F | None:
        """The first armed fault of that kind for one of `tasks`, at that moment; it has struck from now on."""
        among = {None, *tasks}
        for fault in self._armed:
            if isinstance(fault, kind) and not fault.has_struck and fault.task in among:
                if isinstance(fault, Crash) and fault.when != when:
                    continue
                fault.has_struck = True
                return fault
        return None

    def not_struck(self) -> list[str]:
        """Return the armed faults that never happened, as the test wrote them."""
        return [fault.said for fault in self._armed if not fault.has_struck]
