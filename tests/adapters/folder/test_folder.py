"""Bodies as files: whole or not there, and nowhere else."""

import os
from pathlib import Path

import pytest

from tenure import assembly
from tenure.adapters.folder import FolderBlobStore
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerError, BrokerUnavailable, StoreMissing, StoreUnwritable

pytestmark = pytest.mark.real_time

NAME = "mail/a.1"


async def _opened(path: Path, options: str = "") -> FolderBlobStore:
    room = assembly.blob_store(f"file://{path}{options}", clock=SYSTEM_CLOCK)
    assert isinstance(room, FolderBlobStore)
    await room.open()
    return room


async def test_a_body_is_a_file_that_people_can_read(tmp_path: Path) -> None:
    room = await _opened(tmp_path / "some bodies")
    await room.leave([("shop/mail/a%20b.1", b'{"n": 1}')])
    assert (tmp_path / "some bodies" / "shop" / "mail" / "a%20b.1").read_bytes() == b'{"n": 1}'


async def test_who_dies_while_writing_leaves_no_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = await _opened(tmp_path)
    await room.leave([(NAME, b"old")])

    def dies(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", dies)
    with pytest.raises(BrokerUnavailable, match="No space left"):
        await room.leave([(NAME, b"a new one")])
    monkeypatch.undo()
    assert await room.fetch([NAME]) == [b"old"]
    assert list((tmp_path / ".coming").iterdir()) == []


async def test_what_is_coming_is_not_there_yet_and_is_cleared_away_after_a_day(tmp_path: Path) -> None:
    room = await _opened(tmp_path)
    young, old = tmp_path / ".coming" / "young", tmp_path / ".coming" / "old"
    young.write_bytes(b"half")
    old.write_bytes(b"half")
    long_ago = SYSTEM_CLOCK.wall() - 90_000
    os.utime(old, (long_ago, long_ago))
    assert await room.browse() == []
    await _opened(tmp_path)
    assert young.exists()
    assert not old.exists()


@pytest.mark.parametrize("name", ["../a.1", "mail/../../a.1", "/etc/passwd", "mail//a.1", ".coming/x", ""])
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    room = await _opened(tmp_path / "in")
    for act in (room.fetch([name]), room.discard([name]), room.leave([(name, b"1")])):
        with pytest.raises(BrokerError, match="is not a valid name for a body"):
            await act


async def test_a_folder_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="is not there"):
        await _opened(tmp_path / "not", "?create=no")
    assert not (tmp_path / "not").exists()
    (tmp_path / "there").mkdir()
    await _opened(tmp_path / "there", "?create=no")


async def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((StoreUnwritable, BrokerUnavailable)):
        await _opened(tmp_path / "file" / "bodies")


async def test_the_age_of_a_body_is_that_of_its_file(tmp_path: Path) -> None:
    room = await _opened(tmp_path, "?keep_seconds=5")
    assert room.keep_seconds == 5.0
    await room.leave([(NAME, b"1")])
    hour_ago = SYSTEM_CLOCK.wall() - 3600
    os.utime(tmp_path / "mail" / "a.1", (hour_ago, hour_ago))
    (left,) = await room.browse()
    assert 3590 < left.age_seconds < 7200
    await room.leave([(NAME, b"1")])
    (left,) = await room.browse()
    assert left.age_seconds < 3000, "left again, it is young again"
