"""Tenure on Amazon's services: messages in SQS, everything that is known about them in a table of DynamoDB.

SQS delivers, and forgets nothing; but it cannot say who holds a message, and a receipt is no proof of anything. So the
truth about each message is a row in a table, changed by compare-and-set. How that works is in `rowstore/`; here are the
delivery queue (`sqs.py`), the table (`dynamo.py`) and what both stand on.

`connect` makes broker and state over one shared store; nothing is opened before their `open`. Used by `assembly.py`.
"""

from collections.abc import Callable

import msgspec

from tenure import rowstore
from tenure.adapters.aws.dynamo import DynamoTable
from tenure.adapters.aws.options import Options, read_options
from tenure.adapters.aws.session import Prepare, Session
from tenure.adapters.aws.sqs import SqsQueue
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.delivery_queue import DeliveryQueue
from tenure.rowstore import RowStoreBroker, RowStoreState, Settings
from tenure.table import Table

__all__ = ["DynamoTable", "MakeTable", "Options", "SqsQueue", "connect", "read_options", "settings"]

#: Makes the table of the state; it may stand on the session of the queues.
MakeTable = Callable[[Session], Table]


def connect(
    options: Options,
    *,
    clock: Clock = SYSTEM_CLOCK,
    must_exist: bool = False,
    make_table: MakeTable = DynamoTable,
    prepare: Prepare | None = None,
) -> tuple[RowStoreBroker, RowStoreState]:
    """Broker and state as `options` say; with `make_table`, the state in another kind of table.

    `must_exist`: nothing is made, whatever the options say. `prepare` is called with each client of the SDK before it
    is used.
    """
    if must_exist:
        options = msgspec.structs.replace(options, create=False)
    #: Never opened: what one loop hears of the services holds for all, and its twins share it.
    shared = Session(options, clock, prepare)

    def services() -> tuple[DeliveryQueue, Table]:
        session = shared.twin()
        return SqsQueue(session), make_table(session)

    return rowstore.connect(services, settings=settings(options), clock=clock)


def settings(options: Options) -> Settings:
    """The options as a row store takes them."""
    return Settings(
        wire=options.wire,
        keep_seconds=options.keep_seconds,
        hold_seconds=options.hold_seconds,
        body_limit=options.body_limit,
        state_place=options.state_place,
    )
