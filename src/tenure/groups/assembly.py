"""The parts of groups, put together: for the worker and the server, which announce and look after them."""

from tenure.broker import Broker
from tenure.groups.ending import Cancel, Ending, Send
from tenure.groups.group_kind import GroupKind
from tenure.groups.header import Headers
from tenure.groups.keeper import Keeper
from tenure.state import State


class Groups:
    """What a process needs that brings groups to their end."""

    def __init__(self, broker: Broker, state: State, send: Send, cancel: Cancel) -> None:
        """Nothing is read before it is needed. `send` and `cancel`: as for `Ending`."""
        #: The groups of the store.
        self.headers = Headers(state)
        #: What follows their end.
        self.ending = Ending(broker, self.headers, send, cancel)
        #: For the announcer.
        self.kind = GroupKind(self.headers, self.ending)
        #: For those that no announcement ends.
        self.keeper = Keeper(self.headers, self.ending)
