"""`tenure workers` names the tasks of what others hold, on every store."""

import asyncio
from pathlib import Path

import pytest

from tenure import Tenure
from tenure.cli.commands.workers import _holds
from tenure.lease import LeaseRequest
from tenure.owner import Owner

from .places import CLOUDS, PLACES, place_for

QUEUE = "default-tasks"


def _marked(kinds: tuple[str, ...]) -> list[object]:
    return [pytest.param(kind, marks=pytest.mark.cloud if kind in CLOUDS else ()) for kind in kinds]


async def _held(url: str, sends: int) -> str:
    """What another process is told of one that holds messages of one task, and perhaps what others sent."""
    async with Tenure(url) as holder:

        @holder.task
        async def resize(image: str) -> None:
            """Never run here."""

        for number in range(sends):
            await resize.submit(f"{number}.png")
        owner = Owner("w1", "1", queues=(QUEUE,), boot_id=holder.clock.boot_id())
        await holder.state.roster.join(owner)
        lent = 0
        for number in range(20):
            request = LeaseRequest(owner.id, f"r{number}", (QUEUE,), 5, 30.0, has_presence=True)
            lent += len(await holder.broker.lease(request))
            if lent == 2:
                break
        async with Tenure(url) as other:
            (row,) = (await other.operate.workers()).workers
            return _holds(row)


@pytest.mark.parametrize("kind", _marked(PLACES))
def test_what_a_worker_holds_is_told_by_task(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_for(kind, tmp_path, monkeypatch)
    assert asyncio.run(_held(place.url, 2)) == "2 messages: 2 resize"


@pytest.mark.parametrize("kind", _marked(CLOUDS))
def test_of_what_others_sent_nobody_knows_the_task(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_for(kind, tmp_path, monkeypatch)
    place.send_as_others_do(QUEUE, {"image": "a.png"})
    count, _, tasks = asyncio.run(_held(place.url, 1)).partition(": ")
    assert (count, sorted(tasks.split(", "))) == ("2 messages", ["1 of unknown task", "1 resize"])
