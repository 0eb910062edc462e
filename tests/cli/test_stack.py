"""`tenure stack`: what it says to people, and how it ends where there is nothing to say."""

import io
from pathlib import Path

import pytest

from tenure.cli.commands.stack.telling import tell
from tenure.cli.terminal.screen import Screen
from tenure.handler_stack import FrameKind, FrameStack, HandlerStack, Holds, Place, RunPhase, StackBranch, StackFrame
from tenure.record import Progress

from .conftest import URL, Run, answer


def told(*, full: bool = False, stack: FrameStack | None = None, **more: object) -> str:
    fields = {
        "id": "01a1", "queue": "q", "task": "report", "owner": "host:7/abc", "taken_at": 0.0,
        "phase": RunPhase.RUNNING, "runs_in": Place.LOOP, "pid": 7, "running_seconds": 12.4,
        "stack": stack or FrameStack(), **more,
    }  # fmt: skip
    out = io.StringIO()
    tell(Screen(file=out, width=200), HandlerStack(**fields), full=full)  # type: ignore[arg-type]
    return out.getvalue()


def test_frames_are_told_as_a_traceback_and_those_of_tenure_only_on_request(tmp_path: Path) -> None:
    file = tmp_path / "jobs.py"
    file.write_text("first\n    await something(x)\n")
    stack = FrameStack(
        (
            StackFrame("/tenure/runtime/handling.py", 1, "Handling._run", FrameKind.TENURE),
            StackFrame(str(file), 2, "report"),
            StackFrame("/elsewhere/gone.py", None, "inner", FrameKind.LIBRARY),
        )
    )
    text = told(stack=stack)
    assert text == (
        "01a1 (report) runs, for 12 s now, in the worker's event loop\n"
        "worker host:7/abc: process 7\n"
        "\nStack (most recent call last):\n"
        f'  File "{file}", line 2, in report\n    await something(x)\n'
        '  File "/elsewhere/gone.py", line ?, in inner\n'
    )
    assert "handling.py" in told(stack=stack, full=True)


def test_only_python_files_of_this_machine_are_read(tmp_path: Path) -> None:
    secret = tmp_path / "passwords"
    secret.write_text("hunter2\n")
    assert "hunter2" not in told(stack=FrameStack((StackFrame(str(secret), 1, "f"),)))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"holds": Holds.LOOP, "holds_seconds": 12.0},
            "Blocks the worker's event loop for 12 s: no other async",
        ),
        ({"holds": Holds.GIL}, "Holds the GIL: its process does not answer"),
        ({"held_up_by": "01b2", "note": "the handler of x blocks it"}, "Held up by 01b2: the handler of x blocks it."),
        ({"note": "its child process is stopped"}, "Its child process is stopped."),
        ({"progress": Progress(0.25, "page 3"), "progress_age_seconds": 4.0}, "progress 25% page 3 (4.0 s ago)"),
        ({"memory_bytes": 50 << 20}, "process 7, 50 MiB of memory"),
        ({}, "it has just begun or just ended"),
        ({"stack": FrameStack(branches=(StackBranch("Task-7", (StackFrame("f", 1, "g"),)),))}, "waits for Task-7:"),
    ],
)
def test_what_else_there_is_to_say(more: dict[str, object], said: str) -> None:
    assert said in told(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize("phase", list(RunPhase))
def test_every_phase_has_a_sentence(phase: RunPhase) -> None:
    assert told(phase=phase).startswith("01a1 (report) ")


def test_no_name_steers_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\nFAKE LINE"
    text = told(
        task=evil,
        stack=FrameStack((StackFrame(evil, 1, evil),), 3, (StackBranch(evil, ()),)),
        note=evil,
        progress=Progress(None, evil),
    )
    assert "\x1b" not in text
    assert "\nFAKE LINE" not in text


def test_one_that_does_not_run_is_an_error_that_says_where_it_is(tenure: Run) -> None:
    id = answer(tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--json"))["id"]
    result = tenure("stack", URL, id)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error[not_running]: {id} is ready: no worker holds it; nothing was asked" in result.stderr


@pytest.mark.parametrize(("words", "said"), [((), "which message?"), (("a" * 8, "b" * 8), "one message at a time")])
def test_it_takes_one_message(tenure: Run, words: tuple[str, ...], said: str) -> None:
    result = tenure("stack", URL, *words)
    assert result.exit_code == 2
    assert said in result.stderr
