"""The fingerprint of an error: one cause is one group, and two causes are two."""

import pytest

from tenure.rules.fingerprint import fingerprint, place_of
from tenure.verdict import Reason


def _traceback(line: int = 12, code: str = 'raise ValueError("no")', *, path: str = "/app/jobs.py") -> str:
    return f"""Traceback (most recent call last):
  File "{path}", line {line - 3}, in resize
    return load(image)
  File "{path}", line {line}, in load
    {code}
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError
ValueError: no
"""


def _reason(text: str = "no 17", traceback: str = "", code: str = "max_attempts", error: str = "ValueError") -> Reason:
    return Reason(code, text, traceback, error)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no order 4711", "no order 12"),
        ("no user 'ada'", 'no user "bob"'),
        ("gone: 0f3a9b2c-1111-4222-8333-444455556666", "gone: ffffffff-1111-4222-8333-444455556666"),
        ("gone: 01a1f05eae1892110f85", "gone: 01a1f05eae1c9748d28c"),
        ("took 1.5 s\nmore", "took 20 s\nother"),
    ],
)
def test_numbers_ids_and_quoted_words_do_not_split_a_group(one: str, other: str) -> None:
    assert fingerprint("resize", _reason(one)) == fingerprint("resize", _reason(other))


def test_a_shifted_line_and_another_folder_do_not_split_a_group() -> None:
    first = fingerprint("resize", _reason("no 1", _traceback(12)))
    assert fingerprint("resize", _reason("no 2", _traceback(40))) == first
    assert fingerprint("resize", _reason("no 2", _traceback(40, path="/srv/web/jobs.py"))) == first


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("mail", _reason(traceback=_traceback())),
        ("resize", _reason(traceback=_traceback(), code="rejected")),
        ("resize", _reason(traceback=_traceback(), error="KeyError")),
        ("resize", _reason(traceback=_traceback(code="raise ValueError(name)"))),
        ("resize", _reason(traceback=_traceback(path="/app/other.py"))),
        ("resize", _reason()),
        (None, None),
    ],
)
def test_what_is_different_is_another_group(task: str | None, reason: Reason | None) -> None:
    assert fingerprint(task, reason) != fingerprint("resize", _reason(traceback=_traceback()))


def test_other_words_without_a_traceback_are_another_group() -> None:
    assert fingerprint("t", _reason("no user")) != fingerprint("t", _reason("no order"))


def test_the_place_is_the_deepest_frame_of_the_users_own_code() -> None:
    place = place_of(_traceback())
    assert str(place) == "jobs.py:12 in load"
    assert place is not None
    assert place.code == 'raise ValueError("no")'
    assert place_of("") is None


def test_of_chained_exceptions_the_last_one_counts() -> None:
    second = 'Traceback (most recent call last):\n  File "/app/jobs.py", line 30, in report\n    raise Lost\nLost\n'
    chained = f"{_traceback(12)}\nDuring handling of the above exception, another exception occurred:\n\n{second}"
    assert str(place_of(chained)) == "jobs.py:30 in report"
