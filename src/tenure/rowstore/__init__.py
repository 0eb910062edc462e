"""A broker and its state over two small ports: a table that decides, and a queue that delivers.

A delivery queue (`tenure/delivery_queue.py`) brings copies of messages and hides them for a while; nothing else about
it is trusted. The truth about each message is a row of a table (`tenure/table.py`), changed by compare-and-set. All
that the contract of brokers and of the state asks is decided here, for every service alike. Start reading at
`entry.py`, then at `lending.py` and `lease_decision.py`; the heart is `row_changes.py`.

Used by `adapters/aws`, and by brokers of third parties (`docs/how-to/write-a-broker.md`). Knows no vendor.
"""

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.rowstore.broker import RowStoreBroker
from tenure.rowstore.settings import Settings
from tenure.rowstore.state import RowStoreState
from tenure.rowstore.store import Check, Connect, Store
from tenure.rowstore.wire import ENVELOPE, PLAIN

__all__ = ["ENVELOPE", "PLAIN", "Check", "Connect", "RowStoreBroker", "RowStoreState", "Settings", "connect"]


def connect(
    services: Connect, *, settings: Settings, clock: Clock = SYSTEM_CLOCK, check: Check | None = None
) -> tuple[RowStoreBroker, RowStoreState]:
    """Broker and state over what `services` makes, not yet open.

    `services` is called once for each event loop, and returns a delivery queue and a table of that loop. `check` looks
    at the table when it is opened, and raises where nothing must work with it.
    """
    store = Store(services, clock, settings, check=check)
    return RowStoreBroker(store), RowStoreState(store)
