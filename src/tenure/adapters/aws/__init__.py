"""Tenure on Amazon's services: messages in SQS, everything that is known about them in a table of DynamoDB.

SQS delivers, and forgets nothing; but it cannot say who holds a message, and a receipt is no proof of anything. So the
truth about each message is a row in a table, changed by compare-and-set. Start reading at `entry.py`, then at
`lending.py` and `meeting.py`.

`connect` makes broker and state over one shared store; nothing is opened before their `open`. Used by `assembly.py`.
"""

import msgspec

from tenure.adapters.aws.broker import SqsBroker
from tenure.adapters.aws.dynamo import DynamoTable
from tenure.adapters.aws.link import Link, Prepare
from tenure.adapters.aws.options import Options, read_options
from tenure.adapters.aws.state import AwsState
from tenure.adapters.aws.store import MakeTable, Store
from tenure.clock import SYSTEM_CLOCK, Clock

__all__ = ["AwsState", "DynamoTable", "Options", "SqsBroker", "connect", "read_options"]


def connect(
    options: Options,
    *,
    clock: Clock = SYSTEM_CLOCK,
    must_exist: bool = False,
    make_table: MakeTable = DynamoTable,
    prepare: Prepare | None = None,
) -> tuple[SqsBroker, AwsState]:
    """Broker and state as `options` say; with `make_table`, the state in another kind of table.

    `must_exist`: nothing is made, whatever the options say. `prepare` is called with each client of the SDK before it
    is used.
    """
    if must_exist:
        options = msgspec.structs.replace(options, create=False)
    store = Store(Link(options, clock, prepare), make_table)
    return SqsBroker(store), AwsState(store)
