"""The in-memory broker and state: nothing to install, nothing survives the process.

For tests, simulations and trying things out; and the reference that shows most clearly what every other
adapter must do. Start reading at `broker.py`, then `store.py`.

    broker, state = connect()                      a private store
    broker, state = connect("orders")              memory://orders: the same store for the same name
    broker, state = connect(exact=False)           as a cloud queue: the worker must claim and seal
    broker, state = connect(body_limit=1000)       any of the limits in `traits.CHANGEABLE`
"""

import threading
from weakref import WeakValueDictionary

from tenure.adapters.memory.broker import MemoryBroker
from tenure.adapters.memory.state import MemoryState
from tenure.adapters.memory.store import MemoryDatabase
from tenure.adapters.memory.traits import shaped
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import BadSetting

__all__ = ["MemoryBroker", "MemoryState", "connect"]

# Weak: a store lives for as long as one of its brokers or states does.
_stores: WeakValueDictionary[str, MemoryDatabase] = WeakValueDictionary()
_stores_lock = threading.Lock()


def connect(
    name: str = "",
    *,
    clock: Clock = SYSTEM_CLOCK,
    exact: bool = True,
    keep_records: int = 100_000,
    keep_seconds: float = 7 * 24 * 3600.0,
    **changes: float | None,
) -> tuple[MemoryBroker, MemoryState]:
    """Broker and state of the store `name`; without a name, of a new one that only this caller can reach.

    What is completed or cancelled is known for `keep_seconds`, the last `keep_records` of it, and all of it
    for ten minutes. Raises `BadSetting` if the store is open already with other settings.
    """
    store = MemoryDatabase(
        clock=clock,
        traits=shaped(exact=exact, changes=changes),
        keep_records=keep_records,
        keep_seconds=keep_seconds,
    )
    if name:
        with _stores_lock:
            store = _shared(name, store)
    return MemoryBroker(store), MemoryState(store)


def _shared(name: str, store: MemoryDatabase) -> MemoryDatabase:
    """The store that has this name already, or else `store`."""
    known = _stores.setdefault(name, store)
    if (known.clock, known.traits, known.keep) != (store.clock, store.traits, store.keep):
        msg = f"memory://{name} is in use with another clock or other settings; use the same, or another name"
        raise BadSetting(msg)
    return known
