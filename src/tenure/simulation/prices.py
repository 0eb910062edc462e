"""List prices, in US dollars, as data: what the parts on clouds multiply their counts with.

Without free tiers, discounts, storage and traffic. They change: look at the vendor's page before you rely on one. Each
says where it holds; all were put down by hand as of `AS_OF`, and no program has compared them with the vendors' lists.
A Redis costs what its machine costs, and a file costs nothing: neither has a price a call.
"""

from collections.abc import Mapping
from typing import NamedTuple

AS_OF = "2025-11"


class Price(NamedTuple):
    """The price of this many of one thing."""

    dollars: float
    per: int
    #: Where it holds, and what is counted.
    note: str


_SQS = "us-east-1, standard queue; a request carries up to 64 KB"
_SQS_FIFO = "us-east-1, FIFO queue; a request carries up to 64 KB"
_DYNAMO = "us-east-1, on demand, table class standard, since November 2024"
_QUEUE = "East US, LRS, general purpose v2, classes 1 and 2 alike; check it: the list differs by redundancy and region"
_TABLE = "East US, LRS; one batch of up to 100 changes is taken for one operation; check it"
_BLOB = "East US, LRS, hot; check it"

SQS_REQUEST = Price(0.40, 1_000_000, _SQS)
SQS_FIFO_REQUEST = Price(0.50, 1_000_000, _SQS_FIFO)
DYNAMO_WRITE = Price(0.625, 1_000_000, _DYNAMO)
DYNAMO_READ = Price(0.125, 1_000_000, _DYNAMO)
AZURE_QUEUE = Price(0.004, 10_000, _QUEUE)
AZURE_TABLE = Price(0.00036, 10_000, _TABLE)
AZURE_BLOB_WRITE = Price(0.05, 10_000, _BLOB)

#: What each counted thing is sold as. What is not here is sold as units of something else, or not at all.
_SQS_OPERATIONS = (
    "SendMessageBatch", "ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "GetQueueAttributes",
    "GetQueueUrl", "ListQueues",
)  # fmt: skip
SQS = dict.fromkeys(_SQS_OPERATIONS, SQS_REQUEST)
SQS_FIFO = dict.fromkeys(SQS, SQS_FIFO_REQUEST)
DYNAMO = {"write units": DYNAMO_WRITE, "read units": DYNAMO_READ}
QUEUES = dict.fromkeys(
    (
        "Put Message",
        "Get Messages",
        "Peek Messages",
        "Update Message",
        "Delete Message",
        "Queue Metadata",
        "List Queues",
    ),
    AZURE_QUEUE,
)
TABLES = dict.fromkeys(("Table Batch", "Table Change", "Get Entity", "Query Entities"), AZURE_TABLE)
BLOBS = {"Append Block": AZURE_BLOB_WRITE}


def dollars(counts: Mapping[str, float], prices: Mapping[str, Price]) -> float:
    """Return the cost of the counts that these prices are for."""
    return sum(count * prices[name].dollars / prices[name].per for name, count in counts.items() if name in prices)
