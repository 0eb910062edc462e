"""Tenure on an Azure storage account: queues deliver, a table in the same account remembers (or one elsewhere).

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from tenure import rowstore
from tenure.adapters.azure.broker import AzureBroker
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.options import Options, read_options
from tenure.adapters.azure.queue import AzureQueue
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.state import AzureState
from tenure.adapters.azure.store import MakeTable, Store
from tenure.adapters.azure.table import AzureTable
from tenure.adapters.azure.traits import TRAITS
from tenure.broker import Broker
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.delivery_queue import DeliveryQueue
from tenure.state import State
from tenure.table import Table

__all__ = ["AzureBroker", "AzureQueue", "AzureState", "AzureTable", "Options", "connect", "read_options", "settings"]


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
    if options.core != "rowstore":
        store = Store(options, clock, must_exist=must_exist, hook=hook, make_table=make_table)
        return AzureBroker(store), AzureState(store)
    #: Never opened: what one loop hears of the account holds for all, and its twins share it.
    shared = Session(options, clock, must_exist=must_exist, hook=hook)

    def services() -> tuple[DeliveryQueue, Table]:
        session = shared.twin()
        return AzureQueue(session), AzureTable(session) if make_table is None else make_table(session)

    return rowstore.connect(services, settings=settings(options), clock=clock)


def settings(options: Options) -> rowstore.Settings:
    """What a row store is told of the options."""
    return rowstore.Settings(
        wire=options.wire,
        keep_seconds=options.keep_seconds,
        hold_seconds=None,
        body_limit=TRAITS.body_limit,
        state_place=options.place,
    )
