"""Tenure on an Azure storage account: queues deliver, a table in the same account remembers (or one elsewhere).

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from tenure import rowstore
from tenure.adapters.azure.broker import AzureBroker
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.options import Options, read_options
from tenure.adapters.azure.queue import AzureQueue
from tenure.adapters.azure.state import AzureState
from tenure.adapters.azure.store import MakeTable, Store
from tenure.adapters.azure.table import AzureTable
from tenure.adapters.azure.traits import TRAITS
from tenure.broker import Broker
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.delivery_queue import DeliveryQueue
from tenure.state import State
from tenure.table import Table

__all__ = ["AzureBroker", "AzureState", "Options", "connect", "read_options"]


def connect(
    options: Options,
    *,
    clock: Clock = SYSTEM_CLOCK,
    must_exist: bool = False,
    hook: Hook | None = None,
    make_table: MakeTable | None = None,
) -> tuple[Broker, State]:
    """Broker and state over the account that `options` name; with `make_table`, the state in a table elsewhere.

    `must_exist`: nothing is created. `hook` sees every request before it goes out.
    """
    store = Store(options, clock, must_exist=must_exist, hook=hook, make_table=make_table)
    if options.core == "rowstore":
        return _over_rows(store)
    return AzureBroker(store), AzureState(store)


def _over_rows(shared: Store) -> tuple[Broker, State]:
    """The core that SQS has too; `shared` is never opened, and its twins share what one of them hears."""
    options = shared.options

    def services() -> tuple[DeliveryQueue, Table]:
        store = shared.twin()
        return AzureQueue(store), AzureTable(store)

    settings = rowstore.Settings(
        wire=options.wire,
        keep_seconds=options.keep_seconds,
        hold_seconds=7 * 86_400.0,
        body_limit=TRAITS.body_limit,
        state_place=options.place,
    )
    return rowstore.connect(services, settings=settings, clock=shared.clock)
