"""Examines a SQLite file and where it lies: the library, durability, the disk, the file system, who may write.

Reads a few facts of the operating system and changes nothing. Used by `SqliteBroker.examine`.
"""

import asyncio
import shutil
import sqlite3
import stat
from pathlib import Path

from tenure.adapters.sqlite import checkpoint
from tenure.adapters.sqlite.options import SqliteOptions
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.disk_room import find_low_room, room
from tenure.rules.file_system import find_unfit, type_of
from tenure.rules.ledger_window import examine_window

_MOUNTS = Path("/proc/self/mountinfo")
_MIB = 1 << 20


async def examine(options: SqliteOptions) -> list[Examination]:
    """Examine the file. In a thread: a network file system may take its time."""
    return await asyncio.to_thread(_examine, options)


def _examine(options: SqliteOptions) -> list[Examination]:
    path = Path(options.path).resolve()
    return [
        _library(options.path),
        _durability(options),
        examine_window(options.path, options.keep_seconds),
        _room(path),
        _file_system(path),
        _write_ahead_log(path),
        _rights(path),
    ]


def _library(path: str) -> Examination:
    return Examination(
        id="sqlite_version",
        area=Area.STORE,
        title="SQLite library",
        seen=f"version {sqlite3.sqlite_version}",
        findings=tuple(checkpoint.check_library(sqlite3.sqlite_version_info, path)),
    )


def _durability(options: SqliteOptions) -> Examination:
    findings: tuple[Finding, ...] = ()
    if options.synchronous != "full":
        evidence = "the URL says synchronous=normal: a power cut can lose sends and settles that were answered"
        remedy = "Take synchronous=normal out of the URL, or accept that loss knowingly"
        findings = (Finding("sqlite_durability", Severity.WARNING, options.path, evidence, remedy),)
    return Examination(
        id="durability", area=Area.STORE, title="durability", seen=f"synchronous={options.synchronous}",
        findings=findings,
    )  # fmt: skip


def _room(path: Path) -> Examination:
    disk = shutil.disk_usage(path.parent)
    return Examination(
        id="disk_space", area=Area.STORE, title="disk space", seen=room(disk.free, disk.total),
        findings=tuple(find_low_room(str(path), free=disk.free, total=disk.total)),
    )  # fmt: skip


def _file_system(path: Path) -> Examination:
    try:
        kind = type_of(str(path), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        kind = None
    if kind is None:
        why = "this system does not list its mounts (/proc/self/mountinfo)"
        return Examination(id="file_system", area=Area.STORE, title="file system", unknown=why)
    return Examination(
        id="file_system", area=Area.STORE, title="file system", seen=kind, findings=tuple(find_unfit(str(path), kind))
    )


def _write_ahead_log(path: Path) -> Examination:
    try:
        size = Path(f"{path}-wal").stat().st_size
    except OSError:
        size = 0
    findings: tuple[Finding, ...] = ()
    if size > checkpoint.BLOCKING_BYTES:
        evidence = (
            f"{path.name}-wal has {size / _MIB:,.0f} MiB that were not copied to the database: a process keeps an old "
            "transaction open, and reads become slower"
        )
        remedy = "Find the program that keeps a transaction open (a backup, a shell of sqlite3) and end it"
        findings = (Finding("sqlite_wal_large", Severity.WARNING, str(path), evidence, remedy),)
    return Examination(
        id="write_ahead_log", area=Area.STORE, title="write-ahead log", seen=f"{size / _MIB:,.0f} MiB",
        findings=findings,
    )  # fmt: skip


def _rights(path: Path) -> Examination:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Examination(id="file_rights", area=Area.STORE, title="file rights", unknown=str(error))
    findings: tuple[Finding, ...] = ()
    if mode & stat.S_IWOTH:
        evidence = f"every user of this machine may write the database ({stat.filemode(mode)})"
        findings = (
            Finding("file_open_to_all", Severity.WARNING, str(path), evidence, f"Run chmod o-rwx {path}* once"),
        )
    return Examination(
        id="file_rights", area=Area.STORE, title="file rights", seen=stat.filemode(mode), findings=findings
    )
