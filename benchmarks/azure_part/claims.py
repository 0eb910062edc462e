"""The part on Azure Storage Queues: every claim, in order. Called by `make bench`.

Azurite serves queues and tables. Requests are counted where they leave the worker; prices are in
`tenure.simulation.prices`.

It is one thread that shares the cores with what is measured. Where others want them too it has stood still for longer
than ten seconds, after which a call of ours ends with its outcome unknown, and `submit_many` said so (`partly_sent`).
An account does not do that, so the stand-in gets a minute here. (What it did to itself is off: see
`tests/servers/azure_calm.js`.)
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from tests.servers.azure import AzureServer, start_azure

from benchmarks import cloud
from benchmarks.noise import Noise
from benchmarks.table import Table
from tenure.simulation import prices

_LISTS = (prices.QUEUES, prices.TABLES)
_PATIENT = "timeout_seconds=60"


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    count, rounds = (640, 5) if quick else (1920, 9)
    with _server() as server:
        url, noise = server.url("bench", _PATIENT), Noise()
        with console.status("requests a message…"):
            _requests(table, url, count)
        with console.status("the state elsewhere…"):
            cloud.elsewhere(
                table, lambda name, state: server.url(name, _PATIENT, f"state={state}"), (prices.QUEUES,), count
            )
        with console.status("the log for people…"):
            calls = cloud.passed(server.url("log", _PATIENT, "log=bench"), count)
            table.add("appends to the log a message", calls.get("Append Block", 0.0))
            cloud.price(table, "Tables, with the log for people", calls, *_LISTS, prices.BLOBS)
        with console.status("beats…"):
            _beats(table, server.url("beats", _PATIENT))
        with console.status("an idle worker…"):
            cloud.idle(table, url, 20 if quick else 60, _LISTS)
        with console.status("an open dashboard…"):
            cloud.viewing(table, lambda name: server.url(name, _PATIENT), 30 if quick else 60, _LISTS)
        with console.status("workers and bare loops, in turns…"):
            cloud.cpu(
                table, url, lambda: cloud.ask(url, "benchmarks.azure_part.bare", url, count), count=count, rounds=rounds
            )
        if (others := noise.cores()) is not None:
            table.add("cores used by servers and others meanwhile", others)


@contextmanager
def _server() -> Iterator[AzureServer]:
    server = start_azure()
    try:
        yield server
    finally:
        server.kill()


def _requests(table: Table, url: str, count: int) -> None:
    calls = cloud.passed(url, count)
    table.add("queue requests a message (receive, delete)", calls["Get Messages"] + calls["Delete Message"], "≤", 1.04)
    table.add("queue requests a message, to send it", calls["Put Message"])
    table.add("beats a message that ends before its first one", calls.get("Update Message", 0.0), "≤", 0.0)
    table.add("table requests a message", sum(calls.get(name, 0.0) for name in prices.TABLES))
    cloud.price(table, "Tables", calls, *_LISTS)
    table.add("of these, queues alone", prices.dollars(calls, prices.QUEUES) * cloud.MILLION)


def _beats(table: Table, url: str) -> None:
    """Handlers that outlive their beats. A queue of an account knows no batches, so each is a request."""
    held = cloud.worker(url, "hold", 32, 25, "counted")
    beats = held["calls"]["Update Message"]
    table.add("beats of each in 25 s, at a lease of 30 s", beats / held["count"])
    table.add("table requests a beat", sum(held["calls"].get(name, 0.0) for name in prices.TABLES) / beats)
