"""The slate: what is read after a death is the last thing that was written whole."""

import os
import subprocess
import sys

from tenure.runtime import slate as module
from tenure.runtime.slate import Note, Slate


def test_the_last_note_is_read() -> None:
    slate = Slate.make()
    assert slate.read() is None
    for count in range(5):
        ids = [f"m{number}" for number in range(count)]
        slate.write("w/1", ids, len(ids))
        assert slate.read() == Note("w/1", tuple(ids))
    slate.close()


def test_a_note_that_was_not_finished_leaves_the_one_before() -> None:
    slate = Slate.make()
    slate.write("w/1", ["a"], 1)
    slate.write("w/1", ["b"], 1)
    hidden = module._place(3)
    module._face.pack_into(slate._memory, hidden, 100, 12345)  # died before it turned the slate
    assert slate.read() == Note("w/1", ("b",))
    module._turn.pack_into(slate._memory, 0, 3)  # or, on a machine that orders writes as it likes, after
    assert slate.read() == Note("w/1", ("b",))
    slate.close()


def test_more_than_fits_is_counted() -> None:
    slate = Slate.make()
    slate.write("w/1", map(str, range(10_000)), 10_000)
    note = slate.read()
    assert note is not None
    assert note.ids[:3] == ("0", "1", "2")
    assert len(note.ids) + note.more == 10_000
    slate.write("w/1", ["x" * 9_000, "y" * 9_000], 2)
    assert slate.read() == Note("w/1", ("x" * 9_000,), 1)
    slate.write("w/1", ["z" * 100_000], 1)
    assert slate.read() == Note("w/1", (), 1)
    slate.close()


def test_a_tick_says_when_the_child_moved_last_and_harms_no_note() -> None:
    slate = Slate.make()
    assert slate.ticked() is None
    slate.write("w/1", ["a"], 1)
    slate.tick(12.5)
    slate.write("w/1", ["x" * 9_000], 1)
    assert slate.ticked() == 12.5
    assert slate.read() == Note("w/1", ("x" * 9_000,))
    slate.close()


def test_a_child_process_writes_and_its_parent_reads_after_its_death() -> None:
    slate = Slate.make()
    program = """
        import os, sys
        from tenure.runtime.slate import Slate
        Slate(int(sys.argv[1])).write("w/2", ["a", "b"], 2)
        os.kill(os.getpid(), 9)
    """
    words = [sys.executable, "-c", "\n".join(line.strip() for line in program.splitlines()), str(slate.descriptor)]
    ended = subprocess.run(words, pass_fds=[slate.descriptor], check=False, env={**os.environ})
    assert ended.returncode == -9
    assert slate.read() == Note("w/2", ("a", "b"))
    slate.close()
