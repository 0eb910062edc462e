"""The status: what is read after a death is the last thing that was written whole."""

import os
import subprocess
import sys

from tenure.runtime.supervisor import shared_status as module
from tenure.runtime.supervisor.shared_status import RunningNote, SharedStatus


def test_the_last_note_is_read() -> None:
    status = SharedStatus.make()
    assert status.read() is None
    for count in range(5):
        ids = [f"m{number}" for number in range(count)]
        status.write("w/1", ids, len(ids))
        assert status.read() == RunningNote("w/1", tuple(ids))
    status.close()


def test_a_note_that_was_not_finished_leaves_the_one_before() -> None:
    status = SharedStatus.make()
    status.write("w/1", ["a"], 1)
    status.write("w/1", ["b"], 1)
    hidden = module._place(3)
    module._face.pack_into(status._memory, hidden, 100, 12345)  # died before it turned the status
    assert status.read() == RunningNote("w/1", ("b",))
    module._turn.pack_into(status._memory, 0, 3)  # or, on a machine that orders writes as it likes, after
    assert status.read() == RunningNote("w/1", ("b",))
    status.close()


def test_more_than_fits_is_counted() -> None:
    status = SharedStatus.make()
    status.write("w/1", map(str, range(10_000)), 10_000)
    note = status.read()
    assert note is not None
    assert note.ids[:3] == ("0", "1", "2")
    assert len(note.ids) + note.more == 10_000
    status.write("w/1", ["x" * 9_000, "y" * 9_000], 2)
    assert status.read() == RunningNote("w/1", ("x" * 9_000,), 1)
    status.write("w/1", ["z" * 100_000], 1)
    assert status.read() == RunningNote("w/1", (), 1)
    status.close()


def test_a_tick_says_when_the_child_moved_last_and_harms_no_note() -> None:
    status = SharedStatus.make()
    assert status.ticked() is None
    status.write("w/1", ["a"], 1)
    status.tick(12.5)
    status.write("w/1", ["x" * 9_000], 1)
    assert status.ticked() == 12.5
    assert status.read() == RunningNote("w/1", ("x" * 9_000,))
    status.close()


def test_a_child_process_writes_and_its_parent_reads_after_its_death() -> None:
    status = SharedStatus.make()
    program = """
        import os, sys
        from tenure.runtime.supervisor.shared_status import SharedStatus
        SharedStatus(int(sys.argv[1])).write("w/2", ["a", "b"], 2)
        os.kill(os.getpid(), 9)
    """
    words = [sys.executable, "-c", "\n".join(line.strip() for line in program.splitlines()), str(status.descriptor)]
    ended = subprocess.run(words, pass_fds=[status.descriptor], check=False, env={**os.environ})
    assert ended.returncode == -9
    assert status.read() == RunningNote("w/2", ("a", "b"))
    status.close()
