"""Who is dead: a table of cases for the one rule, and the probe that it asks."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.owner import Member, Owner
from tenure.probe import SYSTEM_PROBE, ProcessId, ProcessLook, SystemProbe
from tenure.rules.presence import SILENT_SECONDS, joined_after, judge

HERE = ProcessId("boot", "pid:[1]", 1, "0")
RUNS = ProcessLook(exists=True, start="100")
OWNER = Owner("w", "1", pid=7, boot_id="boot", pid_namespace="pid:[1]", process_start="100")


class Eyes:
    """A probe that sees the same everywhere."""

    def __init__(self, look: ProcessLook, here: ProcessId = HERE) -> None:
        self._look, self._here = look, here
        self.asked: list[int] = []

    def me(self) -> ProcessId:
        return self._here

    def look(self, pid: int) -> ProcessLook:
        self.asked.append(pid)
        return self._look


GONE = ProcessLook(exists=False)
CASES: dict[str, tuple[Member, ProcessLook, str]] = {
    "its process runs": (Member(owner=OWNER), RUNS, ""),
    "its process is gone": (Member(owner=OWNER), GONE, "its process (pid 7) has ended"),
    "its process is a zombie": (
        Member(owner=OWNER), ProcessLook(exists=True, start="100", is_zombie=True), "its process (pid 7) has ended",
    ),
    "another process has its pid": (
        Member(owner=OWNER), ProcessLook(exists=True, start="101"),
        "its process (pid 7) has ended, and another one has that pid now",
    ),
    "nobody may look at it (EPERM), or its start cannot be read": (Member(owner=OWNER), ProcessLook(exists=True), ""),
    "its start was never known, and something has its pid": (
        Member(owner=msgspec.structs.replace(OWNER, process_start="")), RUNS, "",
    ),
    "its start was never known, and nothing has its pid": (
        Member(owner=msgspec.structs.replace(OWNER, process_start="")), GONE, "its process (pid 7) has ended",
    ),
    "another boot": (Member(owner=msgspec.structs.replace(OWNER, boot_id="earlier")), GONE, ""),
    "an unknown boot": (Member(owner=msgspec.structs.replace(OWNER, boot_id="")), GONE, ""),
    "another namespace": (Member(owner=msgspec.structs.replace(OWNER, pid_namespace="pid:[2]")), GONE, ""),
    "an unknown namespace": (Member(owner=msgspec.structs.replace(OWNER, pid_namespace="")), GONE, ""),
    "another host name, same boot": (
        Member(owner=msgspec.structs.replace(OWNER, host="elsewhere")), GONE, "its process (pid 7) has ended",
    ),
    "no pid": (Member(owner=msgspec.structs.replace(OWNER, pid=0)), GONE, ""),
    "silent for an hour": (Member(owner=OWNER, silent_seconds=3600.0), RUNS, ""),
    "silent for an hour, elsewhere": (Member(owner=Owner("w", "1"), silent_seconds=3600.0), GONE, ""),
    "it said goodbye": (Member(owner=OWNER, left=True), RUNS, "it said goodbye"),
    "its lock is free": (
        Member(owner=Owner("w", "1"), lock=False), RUNS, "its process has ended (its lock is free)",
    ),
    "its lock is held": (Member(owner=OWNER, lock=True), GONE, ""),
    "its lock is missing": (Member(owner=Owner("w", "1")), GONE, ""),
    "its retirement was not finished": (
        Member(owner=OWNER, is_retired=True), RUNS,
        "it was declared dead before, and not all that it held was returned",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_cases(case: str) -> None:
    member, look, proof = CASES[case]
    judged = judge([member], Eyes(look))
    assert [dead.proof for dead in judged.dead] == ([proof] if proof else [])
    assert judged.living == ([] if proof else [member])


def test_one_who_cannot_tell_where_it_is_witnesses_nothing() -> None:
    blind = ProcessId("boot", "", 1, "")
    owner = msgspec.structs.replace(OWNER, pid_namespace="")
    assert judge([Member(owner=owner), Member(owner=OWNER)], Eyes(GONE, blind)).dead == []


def test_nobody_is_looked_at_of_whom_nothing_can_be_seen() -> None:
    eyes = Eyes(GONE)
    judge([Member(owner=Owner("w", "1", pid=7)), Member(owner=OWNER, left=True), Member(owner=OWNER, lock=True)], eyes)
    assert eyes.asked == []


# --- slots --------------------------------------------------------------------------------------------------


def _in_slot(nonce: str, joined: float, slot: str = "pod/a", **more: object) -> Member:
    return msgspec.structs.replace(Member(owner=Owner("w", nonce, slot=slot), joined=joined), **more)


def _dead(*members: Member, look: ProcessLook = RUNS) -> list[str]:
    return [dead.owner.nonce for dead in judge(members, Eyes(look)).dead]


def test_of_several_in_a_slot_the_newest_lives() -> None:
    assert _dead(_in_slot("2", 20.0), _in_slot("1", 10.0), _in_slot("3", 30.0)) == ["2", "1"]


def test_a_slot_says_nothing_about_others() -> None:
    assert _dead(_in_slot("1", 10.0), _in_slot("2", 20.0, "pod/b"), _in_slot("3", 30.0, "")) == []
    assert _dead(_in_slot("1", 10.0, ""), _in_slot("2", 20.0, "")) == []


def test_of_two_who_joined_at_the_same_moment_none_is_dead() -> None:
    assert _dead(_in_slot("1", 10.0), _in_slot("2", 10.0)) == []


def test_one_that_was_put_back_by_a_beat_is_older_than_all() -> None:
    assert _dead(_in_slot("1", 0.0), _in_slot("2", 10.0)) == ["1"]
    assert _dead(_in_slot("1", 0.0), _in_slot("2", 0.0)) == []


def test_a_newer_one_that_left_proves_the_older_dead_too() -> None:
    assert _dead(_in_slot("1", 10.0), _in_slot("2", 20.0, left=True)) == ["1", "2"]


def test_a_process_that_is_seen_to_run_is_alive_whoever_has_its_slot() -> None:
    """Two workers with one slot at once are a mistake of whoever set them up; it must not make them overlap."""
    old = Member(owner=msgspec.structs.replace(OWNER, slot="pod/a"), joined=10.0)
    assert _dead(old, _in_slot("2", 20.0)) == []
    assert _dead(old, _in_slot("2", 20.0), look=ProcessLook(exists=True)) == ["1"]
    assert _dead(msgspec.structs.replace(old, lock=True), _in_slot("2", 20.0)) == []


def test_whoever_joins_a_slot_is_later_than_those_found_there_though_its_clock_is_behind() -> None:
    owner = Owner("w", "2", slot="pod/a")
    before = _in_slot("1", 10.0)
    assert joined_after([before], owner, 9.0) > 10.0
    assert joined_after([before], owner, 12.0) == 12.0
    assert joined_after([before], Owner("w", "2", slot="pod/b"), 9.0) == 9.0
    assert joined_after([_in_slot("1", 10.0, "")], Owner("w", "2"), 9.0) == 9.0


def test_whoever_joins_again_is_not_later_than_itself() -> None:
    again = Owner("w", "1", slot="pod/a")
    assert joined_after([_in_slot("1", 10.0)], again, 10.0) == 10.0


# --- the silent ---------------------------------------------------------------------------------------------


def test_only_the_living_who_were_long_silent_may_be_removed() -> None:
    members = [
        Member(owner=Owner("w", "1"), silent_seconds=SILENT_SECONDS - 1),
        Member(owner=Owner("w", "2"), silent_seconds=SILENT_SECONDS),
        Member(owner=Owner("w", "3"), silent_seconds=SILENT_SECONDS, left=True),
    ]
    assert [member.owner.nonce for member in judge(members, Eyes(RUNS)).silent] == ["2"]


def test_an_owner_that_an_older_tenure_wrote_is_read() -> None:
    old = b'{"name":"w","nonce":"1","host":"h","pid":7,"boot_id":"boot","started_at":1.0,"queues":[],"concurrency":1}'
    owner = msgspec.json.decode(old, type=Owner)
    assert (owner.pid_namespace, owner.process_start, owner.slot) == ("", "", "")
    assert judge([Member(owner=owner)], Eyes(GONE)).dead == []


# --- the probe ----------------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="not applicable: /proc is Linux'")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that sleeps until it is ended."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        try:
            yield process
        finally:
            process.kill()


def _owner_of(pid: int) -> Owner:
    me, look = SYSTEM_PROBE.me(), SYSTEM_PROBE.look(pid)
    return Owner("w", "1", pid=pid, boot_id=me.boot_id, pid_namespace=me.pid_namespace, process_start=look.start)


def _proofs(owner: Owner) -> list[str]:
    return [dead.proof for dead in judge([Member(owner=owner)], SYSTEM_PROBE).dead]


@linux
def test_we_see_ourselves_and_are_alive() -> None:
    me = SYSTEM_PROBE.me()
    assert me.pid == os.getpid()
    assert me.pid_namespace.startswith("pid:[")
    assert me.start.isdecimal()
    assert SYSTEM_PROBE.look(me.pid) == ProcessLook(exists=True, start=me.start, parent=os.getppid())
    assert _proofs(_owner_of(me.pid)) == []


def test_a_process_is_dead_from_the_moment_it_is_killed_until_long_after(child: subprocess.Popen[bytes]) -> None:
    owner = _owner_of(child.pid)
    assert _proofs(owner) == []
    child.kill()
    if sys.platform == "linux":  # a zombie: nobody has waited for it
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert SYSTEM_PROBE.look(child.pid).is_zombie
        assert _proofs(owner) == [f"its process (pid {child.pid}) has ended"]
    child.wait()
    assert _proofs(owner) == [f"its process (pid {child.pid}) has ended"]


@linux
def test_a_stopped_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    owner = _owner_of(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert _proofs(owner) == []


@linux
def test_a_pid_that_was_given_to_another_process_is_told_by_its_start(child: subprocess.Popen[bytes]) -> None:
    owner = msgspec.structs.replace(_owner_of(child.pid), process_start="1")
    assert _proofs(owner) == [f"its process (pid {child.pid}) has ended, and another one has that pid now"]


def test_pids_that_are_none_prove_nothing() -> None:
    assert [SYSTEM_PROBE.look(pid).exists for pid in (0, -1, -(2**40), 2**40)] == [True] * 4


def test_a_process_that_we_may_not_signal_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert SYSTEM_PROBE.look(1) == ProcessLook(exists=True)


@linux
def test_a_proc_of_another_namespace_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `unshare --pid` without a `/proc` of its own: the pids there are other processes'."""
    monkeypatch.setattr(os, "readlink", lambda path: "4711" if path == "/proc/self" else "pid:[1]")
    assert SystemProbe().me().pid_namespace == ""


MAIN_THREAD_ENDED = """
import ctypes, sys, threading, time
def work():
    print("ready", flush=True)
    time.sleep(60)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@linux
def test_a_process_whose_main_thread_has_ended_is_alive_while_others_run() -> None:
    with subprocess.Popen([sys.executable, "-c", MAIN_THREAD_ENDED], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            stat = Path(f"/proc/{process.pid}/stat")
            pause = threading.Event()
            for _ in range(500):
                if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                    break
                pause.wait(0.01)
            else:
                pytest.fail("the main thread did not end")
            assert not SYSTEM_PROBE.look(process.pid).is_zombie
            assert _proofs(_owner_of(process.pid)) == []
        finally:
            process.kill()
