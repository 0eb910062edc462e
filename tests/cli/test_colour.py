"""Colours: on a terminal, for levels and errors; never where NO_COLOR is set."""

import io
import logging
import sys

import pytest

from tenure.cli import logs
from tenure.cli.logs import _Text
from tenure.cli.terminal.colour import wants_colour


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "on_terminal", "in_pipe"),
    [({}, True, False), ({"NO_COLOR": "1"}, False, False), ({"NO_COLOR": ""}, True, False),
     ({"FORCE_COLOR": "1"}, True, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
     ({"TERM": "dumb"}, False, False)],
)  # fmt: skip
def test_a_terminal_gets_colours_and_a_pipe_does_not(
    environment: dict[str, str], on_terminal: bool, in_pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (wants_colour(_Terminal()), wants_colour(io.StringIO())) == (on_terminal, in_pipe)


def _line(level: int, *, coloured: bool) -> str:
    record = logging.LogRecord("tenure.worker", level, "f", 1, "it \x1b[31mfailed", None, None)
    return _Text(coloured=coloured).format(record)


def test_only_the_level_is_coloured_and_what_others_wrote_stays_plain() -> None:
    line = _line(logging.WARNING, coloured=True)
    assert line[24:].startswith("\x1b[33mWARNING\x1b[0m tenure.worker  it ")
    assert line.count("\x1b") == 2
    assert "it \\x1b[31mfailed" in line


@pytest.mark.parametrize(
    ("level", "start"),
    [(logging.DEBUG, "\x1b[2m"), (logging.INFO, ""), (logging.WARNING, "\x1b[33m"), (logging.ERROR, "\x1b[31m"),
     (logging.CRITICAL, "\x1b[31m\x1b[1m")],
)  # fmt: skip
def test_each_level_has_its_colour(level: int, start: str) -> None:
    name = logging.getLevelName(level)
    end = "\x1b[0m" if start else ""
    assert _line(level, coloured=True)[24:].startswith(f"{start}{name}{end}{' ' * (7 - len(name))} tenure.worker  ")


@pytest.mark.parametrize(("no_color", "expected"), [("", True), ("1", False)])
def test_a_worker_on_a_terminal_colours_its_levels(
    no_color: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = _Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stderr", terminal)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        logs.install("text", verbose=False)
        logging.getLogger("tenure.cli").warning("hello")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert ("\x1b[33mWARNING" in terminal.getvalue()) is expected
    assert "hello" in terminal.getvalue()
