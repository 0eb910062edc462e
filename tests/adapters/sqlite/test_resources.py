"""A process that runs out of descriptors recovers when it has some again."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.adapters.sqlite import connect
from tenure.adapters.sqlite.presence import Presence
from tenure.adapters.sqlite.receipt import row_of
from tenure.adapters.sqlite.wake import Wake
from tenure.lease import Lease
from tenure.message import Message, Outgoing


@pytest.fixture
def shortage() -> Iterator[list[int]]:
    """Room for few descriptors; those in the list are closed at the end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    taken: list[int] = []
    yield taken
    for descriptor in taken:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _fill(taken: list[int]) -> None:
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return


def _outgoing(id: str) -> Outgoing:
    import msgspec

    return Outgoing(Message(id=id, queue="q", task="t", body=msgspec.Raw(b"{}")))


@pytest.mark.real_time
async def test_the_writer_outlives_a_shortage(tmp_path: Path, shortage: list[int]) -> None:
    broker, _ = connect(str(tmp_path / "jobs.db"))
    await broker.open()
    _fill(shortage)
    await broker.send([_outgoing("a")])
    while shortage:
        os.close(shortage.pop())
    (sent,) = await broker.send([_outgoing("b")])
    assert not sent.duplicate
    await broker.close()


def test_whoever_wakes_others_outlives_a_shortage(tmp_path: Path, shortage: list[int]) -> None:
    wake = Wake(tmp_path)
    _fill(shortage)
    wake.tell_others({"q"})
    assert shortage
    wake.close()


def test_not_to_know_is_no_proof_of_death(tmp_path: Path, shortage: list[int]) -> None:
    presence = Presence(tmp_path)
    presence.take("w/1")
    _fill(shortage)
    assert presence.look("w/1") is None
    while shortage:
        os.close(shortage.pop())
    presence.close()


@pytest.mark.parametrize("receipt", ["01:m", "\u0663:m", "x:m", ":m", "1:other"])
def test_a_forged_receipt_names_no_row_or_a_plain_one(receipt: str) -> None:
    lease = Lease("m", "q", b"", "w/1", 1, receipt, 30.0, 0.0)
    assert row_of(lease) in ("0", "1")
