"""A database that a user may read and not write can be looked at; a write says what is missing."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.adapters.sqlite import read_only
from tenure.adapters.sqlite.job import WriteJob
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.timeline import StoreClock
from tenure.adapters.sqlite.transaction import ReadView
from tenure.errors import BrokerUnavailable

from .place import Place, ended, line_of, say, start

AS_NOBODY = """
import asyncio, os, sys, tempfile
from tenure.adapters.sqlite import connect
from tenure.message import Message, Outgoing
import msgspec
out = Outgoing(Message(id="b", queue="mail", task="deliver", body=msgspec.Raw(b"{}")), 0.0)
async def warm_up():
    # Whatever Python loads late, while this user may still read it.
    with tempfile.TemporaryDirectory() as folder:
        broker, state = connect(folder + "/q.db")
        await broker.open()
        await broker.depth()
        await broker.close()
asyncio.run(warm_up())
if os.getuid() == 0:
    os.setuid(65534)
async def main():
    broker, state = connect(sys.argv[1], must_exist="must_exist" in sys.argv)
    try:
        await broker.open()
    except Exception as error:
        print(getattr(error, "code", repr(error)), flush=True)
        return
    print("opened", flush=True)
    for _ in range(2):
        if sys.stdin.readline():
            depth = await broker.depth()
            print([one.ready for one in depth], len(await state.roster.members()), flush=True)
    try:
        print((await broker.send([out]))[0].id, flush=True)
    except Exception as error:
        print(getattr(error, "code", repr(error)), flush=True)
    await broker.close()
asyncio.run(main())
"""


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that another user can reach, which pytest's own is not where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        try:
            yield folder
        finally:
            folder.chmod(0o777)


def protect(folder: Path, read_only: str) -> None:
    for file in folder.glob("q.db*"):
        if file.is_file():
            file.chmod(0o444 if read_only in ("file", "both") else 0o666)
    folder.chmod(0o555 if read_only in ("folder", "both") else 0o777)


@pytest.mark.parametrize("read_only", ["file", "folder", "both", "nothing"])
async def test_what_may_only_be_read_can_be_looked_at(read_only: str) -> None:
    with shared_folder() as folder:
        async with Place(folder / "q.db") as place:
            await place.send("a")
        protect(folder, read_only)
        before = sorted(path.name for path in folder.iterdir())
        with ended(start(AS_NOBODY, folder / "q.db")) as process:
            assert line_of(process) == "opened"
            say(process, "look\nlook")
            assert [line_of(process), line_of(process)] == ["[1] 0", "[1] 0"]
            assert line_of(process) == ("b" if read_only == "nothing" else "store_unwritable")
            process.wait(60)
        if read_only != "nothing":
            assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("is_open", [True, False], ids=["writer stays", "writer came and went"])
async def test_what_others_write_meanwhile_is_seen(is_open: bool) -> None:
    with shared_folder() as folder:
        async with Place(folder / "q.db") as place:
            await place.send("a")
        if is_open:
            async with Place(folder / "q.db") as place:
                await _look_write_look(folder, place)
        else:
            await _look_write_look(folder, None)


async def _look_write_look(folder: Path, writer: Place | None) -> None:
    if writer is not None:
        await writer.send("a2")
    protect(folder, "both")
    with ended(start(AS_NOBODY, folder / "q.db")) as process:
        assert line_of(process) == "opened"
        say(process, "look")
        assert line_of(process) == ("[1] 0" if writer is None else "[2] 0")
        folder.chmod(0o777)  # noqa: ASYNC240 - nothing else runs here
        if writer is None:
            async with Place(folder / "q.db") as other:
                await other.send("x", "y")
        else:
            await writer.send("x", "y")
        say(process, "look")
        assert line_of(process) == ("[3] 0" if writer is None else "[4] 0")
        assert line_of(process) == "store_unwritable"


@pytest.mark.parametrize("must_exist", [True, False])
async def test_what_may_not_be_read_is_named(must_exist: bool) -> None:
    with shared_folder() as folder:
        async with Place(folder / "q.db"):
            pass
        words = ["must_exist"] if must_exist else []
        (folder / "q.db").chmod(0o600)
        with ended(start(AS_NOBODY, folder / "q.db", *words)) as process:
            assert line_of(process) == "store_unreadable"
        folder.chmod(0o700)
        with ended(start(AS_NOBODY, folder / "q.db", *words)) as process:
            assert line_of(process) == "store_unreadable"


async def test_a_file_of_an_older_tenure_is_not_upgraded() -> None:
    with shared_folder() as folder:
        (folder / "q.db").touch()
        protect(folder, "file")
        with ended(start(AS_NOBODY, folder / "q.db")) as process:
            assert line_of(process) == "store_unwritable"


async def test_store_time_does_not_go_back_after_a_boot_that_the_file_does_not_know(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.send("a")
    seen = 2**52
    place.sql("UPDATE meta SET value = 'another boot' WHERE name = 'boot'")
    place.sql("UPDATE meta SET value = ? WHERE name = 'seen'", seen)
    before = place.path.read_bytes()
    timeline = StoreClock(place.clock)
    read_only.prepare(str(place.path), 1.0, timeline)
    assert timeline.now() == seen
    assert place.path.read_bytes() == before


@pytest.mark.parametrize("writes", [1, 99])
async def test_a_look_during_which_the_file_was_written_begins_again(tmp_path: Path, writes: int) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.send("a")
    looks = 0

    def look(view: ReadView) -> int:
        nonlocal looks
        looks += 1
        (count,) = view.db.execute("SELECT count(*) FROM meta WHERE name LIKE 'extra%'").fetchone()
        if looks <= writes:
            place.sql("INSERT INTO meta VALUES (?, 1)", f"extra{looks}")  # by somebody else, who comes and goes
        return int(count)

    file = OpenedFile(str(place.path), place.clock)
    reader = read_only.ReadOnlyReader(str(place.path), 1.0, StoreClock(place.clock), file)
    job: WriteJob = WriteJob(look)
    reader._serve(job)
    if writes == 1:
        assert (job.error, job.value, looks) == (None, 1, 2)
    else:
        assert isinstance(job.error, BrokerUnavailable)
