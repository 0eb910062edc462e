"""The part on SQS: every claim, in order. Called by `make bench`.

ministack serves both SQS and DynamoDB. Requests are counted where they leave the worker; prices are in
`tenure.simulation.prices`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from tests.servers.aws import start_aws

from benchmarks import cloud
from benchmarks.noise import Noise
from benchmarks.table import Table
from tenure.simulation import prices

#: Names for a stand-in that asks for none.
os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

#: What passes a message through a queue.
PASSING = ("SendMessageBatch", "ReceiveMessage", "DeleteMessageBatch")
BEAT, BEATS = "ChangeMessageVisibilityBatch", "beats"


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    count, rounds = (1000, 5) if quick else (3000, 9)
    with _url() as (url, endpoint):
        noise = Noise()
        with console.status("requests a message…"):
            _requests(table, url, count)
        with console.status("the state elsewhere…"):
            place = f"sqs://eu-west-1?create=yes&endpoint={endpoint}&prefix={{0}}-&state={{1}}"
            cloud.elsewhere(table, place.format, (prices.SQS,), count)
        with console.status("beats…"):
            _beats(table, url)
        with console.status("an idle worker…"):
            cloud.idle(table, url, 20 if quick else 60, (prices.SQS, prices.DYNAMO))
        with console.status("an open dashboard…"):
            cloud.viewing(
                table, lambda prefix: f"{url}&prefix={prefix}-", 30 if quick else 60, (prices.SQS, prices.DYNAMO)
            )
        with console.status("workers and bare loops, in turns…"):
            cloud.cpu(
                table,
                url,
                lambda: cloud.ask(url, "benchmarks.sqs_part.bare", endpoint, count),
                count=count,
                rounds=rounds,
            )
        if (others := noise.cores()) is not None:
            table.add("cores used by servers and others meanwhile", others)


@contextmanager
def _url() -> Iterator[tuple[str, str]]:
    server = start_aws("ministack")
    try:
        yield f"sqs://eu-west-1?create=yes&endpoint={server.url}", server.url
    finally:
        server.kill()


def _requests(table: Table, url: str, count: int) -> None:
    calls = cloud.passed(url, count)
    table.add(
        "SQS requests a message (send, receive, delete)", sum(calls.get(name, 0.0) for name in PASSING), "≤", 0.31
    )
    table.add("beats a message that ends before its first one", calls.get(BEAT, 0.0), "≤", 0.0)
    asked = sum(calls.get(name, 0.0) for name in ("BatchGetItem", "BatchExecuteStatement", "PutItem", "Query"))
    table.add("DynamoDB requests a message", asked)
    table.add("DynamoDB write units a message", calls["write units"])
    table.add("DynamoDB read units a message", calls["read units"])
    cloud.price(table, "DynamoDB", calls, prices.SQS, prices.DYNAMO)
    table.add("of these, SQS alone", prices.dollars(calls, prices.SQS) * cloud.MILLION)
    table.add("SQS alone, on a FIFO queue with full batches", prices.dollars(calls, prices.SQS_FIFO) * cloud.MILLION)


def _beats(table: Table, url: str) -> None:
    """A hundred handlers that outlive their beats."""
    held = cloud.worker(f"{url}&prefix=beats-", "hold", 100, 25, "counted")
    calls = held["calls"]
    table.add(f"beats to a call, of {held['count']} that are held", calls[BEATS] / calls[BEAT], "≥", 9.5)
    table.add("beats of each in 25 s, at a lease of 30 s", calls[BEATS] / held["count"])
    table.add("DynamoDB write units a beat", calls["write units"] / calls[BEATS])
