"""Durations, read and said."""

import click
import pytest

from tenure.cli.duration import DURATION, countdown, spoken


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30.0), ("30s", 30.0), ("5m", 300.0), ("2h", 7200.0), ("1.5m", 90.0), ("250ms", 0.25), ("1d", 86_400.0),
     ("2 H", 7200.0)],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 weeks", "1e3", "nan", "inf", "s", "5m30s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 30, 30s, 5m or 2h"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.0, "0.0 s"), (3.21, "3.2 s"), (12.4, "12 s"), (119, "119 s"), (150, "2 min 30 s"),
     (1000, "16 min"), (7500, "2 h 5 min"), (2 * 86_400, "2 d"), (200_000, "2 d 7 h")],
)  # fmt: skip
def test_durations_are_said(seconds: float | None, text: str) -> None:
    assert spoken(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (12.2, "12 s"), (0.4, "0 s"), (-3.1, "Overdue 3 s"), (-600, "Overdue 10 min")]
)
def test_a_lease_is_counted_down(seconds: float | None, text: str) -> None:
    assert countdown(seconds) == text
