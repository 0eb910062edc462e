"""Shortened tracebacks keep the user's own frames."""

import textwrap

import pytest

from tenure.text.traceback_text import shorten, shorten_lines, without_library_frames

LIBRARY = "/app/.venv/lib/python3.11/site-packages"


def frame(path: str, code: str = "call()", line: int = 3) -> str:
    return f'  File "{path}", line {line}, in work\n    {code}\n    ^^^^^^\n'


def trace(*paths: str, error: str = "OSError: no route") -> str:
    return "Traceback (most recent call last):\n" + "".join(frame(path) for path in paths) + f"{error}\n"


def test_frames_of_libraries_are_left_out_and_counted() -> None:
    text = trace("/app/jobs.py", f"{LIBRARY}/requests/api.py", "/usr/lib/python3.11/ssl.py", "/app/hooks.py")
    assert without_library_frames(text) == (
        "Traceback (most recent call last):\n"
        + frame("/app/jobs.py")
        + "  … 2 frames of libraries\n"
        + frame("/app/hooks.py")
        + "OSError: no route\n"
    )


def test_frames_before_the_error_line_are_left_out_too() -> None:
    text = without_library_frames(trace("/app/jobs.py", f"{LIBRARY}/requests/api.py"))
    assert text.endswith("    ^^^^^^\n  … 1 frame of libraries\nOSError: no route\n")


@pytest.mark.parametrize("path", [r"C:\app\.venv\Lib\site-packages\requests\api.py", "<frozen importlib._bootstrap>"])
def test_libraries_elsewhere_are_known(path: str) -> None:
    assert "1 frame of libraries" in without_library_frames(trace("/app/jobs.py", path))


def test_an_installed_handler_is_the_users_own() -> None:
    text = trace(f"{LIBRARY}/shop/jobs.py", f"{LIBRARY}/requests/api.py", f"{LIBRARY}/shop/mail.py")
    kept = without_library_frames(text)
    assert "shop/jobs.py" in kept
    assert "shop/mail.py" in kept
    assert "requests" not in kept


def test_nothing_is_left_out_where_no_frame_would_stay() -> None:
    text = "".join([frame("/usr/lib/python3.11/json/decoder.py"), "ValueError: x\n"])
    assert without_library_frames(text) == text


def test_every_part_of_a_chain_keeps_its_own_frames() -> None:
    cause = trace(f"{LIBRARY}/requests/api.py", "/app/hooks.py", error="KeyError: 1")
    both = f"{cause}\nDuring handling of the above exception, another exception occurred:\n\n{trace('/app/jobs.py')}"
    kept = without_library_frames(both)
    assert "requests" not in kept
    assert all(words in kept for words in ("/app/hooks.py", "KeyError: 1", "During handling", "/app/jobs.py"))


def test_a_group_keeps_its_own_frames() -> None:
    inner = textwrap.indent(trace("/app/jobs.py", f"{LIBRARY}/requests/api.py"), "  | ")
    kept = without_library_frames(f"{trace('/app/jobs.py', error='ExceptionGroup: many')}{inner}")
    assert "requests" not in kept
    assert kept.count("/app/jobs.py") == 2


def test_what_is_short_stays_as_it_is() -> None:
    text = trace("/app/jobs.py", f"{LIBRARY}/requests/api.py")
    assert shorten(text, 4000) == text
    assert shorten_lines(text, 6, 20) == text


def test_a_deep_library_does_not_push_the_handler_out() -> None:
    text = trace("/app/jobs.py", *[f"{LIBRARY}/deep/{number}.py" for number in range(100)])
    for short in (shorten(text, 1000), shorten_lines(text, 6, 6)):
        assert "/app/jobs.py" in short
        assert "100 frames of libraries" in short
        assert short.rstrip().endswith("OSError: no route")


def test_of_what_is_still_too_long_begin_and_end_stay() -> None:
    text = trace("/app/jobs.py", *["/app/deep.py"] * 200, error="OSError: " + "x" * 100 + " the end")
    short = shorten(text, 1000)
    assert len(short) == 1001
    assert "/app/jobs.py" in short
    assert short.endswith("the end\n")
    lines = shorten_lines(text, 6, 6).splitlines()
    assert (len(lines), lines[1], lines[6]) == (13, '  File "/app/jobs.py", line 3, in work', "  …")
