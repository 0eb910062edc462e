"""Tenure on an Azure storage account: queues deliver, a table in the same account remembers (or one elsewhere).

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from collections.abc import Callable

import msgspec

from tenure import rowstore
from tenure.adapters.azure.broker import AzureBroker
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.migration.earlier import opened
from tenure.adapters.azure.migration.gate import Gate, OpenEarlier
from tenure.adapters.azure.migration.migrator import AzureMigrator
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
from tenure.rowstore.store import Store as RowStore
from tenure.state import State
from tenure.table import Table

__all__ = [
    "AzureBroker",
    "AzureQueue",
    "AzureState",
    "AzureTable",
    "Options",
    "connect",
    "migrator",
    "read_options",
    "settings",
]


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
    services = _services(Session(options, clock, must_exist=must_exist, hook=hook), make_table)
    gate = Gate(options.place, _earlier(options, clock, hook, make_table), may_write=not must_exist)
    return rowstore.connect(services, settings=settings(options), clock=clock, check=gate.check)


def migrator(
    options: Options, *, clock: Clock = SYSTEM_CLOCK, hook: Hook | None = None, make_table: MakeTable | None = None
) -> AzureMigrator:
    """What carries the tables of earlier versions over into that of the shared core, which it creates."""

    def make_store(*, may_create: bool) -> RowStore:
        new = msgspec.structs.replace(options, core="rowstore", create=may_create)
        session = Session(new, clock, must_exist=not may_create, hook=hook)
        return RowStore(_services(session, make_table), clock, settings(new))

    return AzureMigrator(options.place, make_store, _earlier(options, clock, hook, make_table))


def _services(shared: Session, make_table: MakeTable | None) -> Callable[[], tuple[DeliveryQueue, Table]]:
    """`shared` is never opened: what one loop hears of the account holds for all, and its twins share it."""

    def services() -> tuple[DeliveryQueue, Table]:
        session = shared.twin()
        return AzureQueue(session), AzureTable(session) if make_table is None else make_table(session)

    return services


def _earlier(options: Options, clock: Clock, hook: Hook | None, make_table: MakeTable | None) -> OpenEarlier:
    return lambda: opened(options, clock, hook, make_table)


def settings(options: Options) -> rowstore.Settings:
    """What a row store is told of the options."""
    return rowstore.Settings(
        wire=options.wire,
        keep_seconds=options.keep_seconds,
        hold_seconds=None,
        body_limit=TRAITS.body_limit,
        state_place=options.place,
    )
