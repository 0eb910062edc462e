"""Tenure on an Azure storage account: queues deliver, a table in the same account remembers (or one elsewhere).

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from tenure.adapters.azure.broker import AzureBroker
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.options import Options, read_options
from tenure.adapters.azure.state import AzureState
from tenure.adapters.azure.store import MakeTable, Store
from tenure.clock import SYSTEM_CLOCK, Clock

__all__ = ["AzureBroker", "AzureState", "Options", "connect", "read_options"]


def connect(
    options: Options,
    *,
    clock: Clock = SYSTEM_CLOCK,
    must_exist: bool = False,
    hook: Hook | None = None,
    make_table: MakeTable | None = None,
) -> tuple[AzureBroker, AzureState]:
    """Broker and state over the account that `options` name; with `make_table`, the state in a table elsewhere.

    `must_exist`: nothing is created. `hook` sees every request before it goes out.
    """
    store = Store(options, clock, must_exist=must_exist, hook=hook, make_table=make_table)
    return AzureBroker(store), AzureState(store)
