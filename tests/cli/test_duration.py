"""Durations, rates, sizes and moments, read and said."""

import re
from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from tenure.cli.terminal.duration import DURATION, Duration, countdown, exact, spoken
from tenure.cli.terminal.moment import DURATION_OR_MOMENT, MOMENT
from tenure.cli.terminal.rate import RATE
from tenure.cli.terminal.size import SIZE
from tenure.errors import BadArgument


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


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0.0002, "<1 ms"), (0.25, "250 ms"), (1.25, "1.2 s"), (150, "2 min 30 s")]
)
def test_what_took_less_than_a_second_is_said_in_milliseconds(seconds: float | None, text: str) -> None:
    assert exact(seconds) == text


def test_a_duration_may_have_a_least() -> None:
    assert Duration(0.1).convert("100ms", None, None) == 0.1
    with pytest.raises(click.BadParameter, match=r"too short; at least 0\.1 s"):
        Duration(0.1).convert("0s", None, None)


@pytest.mark.parametrize(
    ("text", "per_second"), [("50/s", 50.0), ("50", 50.0), ("120/m", 2.0), ("1800 / h", 0.5), ("0.5/S", 0.5)]
)
def test_rates_are_read(text: str, per_second: float) -> None:
    assert RATE.convert(text, None, None) == per_second


@pytest.mark.parametrize("text", ["", "0/s", "fast", "5/week", "-1/s", "/s", "5/"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not a rate above 0"):
        RATE.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2030-01-31T09:00Z", datetime(2030, 1, 31, 9, tzinfo=UTC)),
     ("2030-01-31 09:00+01:00", datetime(2030, 1, 31, 9, tzinfo=timezone(timedelta(hours=1))))],
)  # fmt: skip
def test_moments_are_read(text: str, moment: datetime) -> None:
    assert MOMENT.convert(text, None, None) == moment
    assert DURATION_OR_MOMENT.convert(text, None, None) == moment


def test_a_moment_without_an_offset_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"has no offset.*Nothing was done"):
        MOMENT.convert("2030-01-31T09:00", None, None)


@pytest.mark.parametrize("text", ["2030-01-31", "20300131", "2030-W05", " 2030-01-31 09:00 ", "2030-01-31T09:00:07.5"])
def test_the_moment_that_is_advised_is_taken(text: str) -> None:
    with pytest.raises(BadArgument) as refused:
        MOMENT.convert(text, None, None)
    for advised in re.findall(r"[^ ]+(?:Z|[+]01:00)(?= |[.])", str(refused.value)):
        moment = MOMENT.convert(advised, None, None)
        assert moment.replace(tzinfo=None) == datetime.fromisoformat(text.strip())
    assert str(refused.value).count("+01:00") == 1


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="is not a moment"):
        MOMENT.convert("tomorrow", None, None)
    assert DURATION_OR_MOMENT.convert("10m", None, None) == 600.0


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), ("500", 500.0), ("1e9", 1e9), ("80kB", 80e3), ("1.5GB", 1.5e9), ("2 GiB", 2.0**31),
     ("3mib", 3 * 2.0**20), ("7B", 7.0), ("1TB", 1e12)],
)  # fmt: skip
def test_sizes_are_read(text: str, number: float) -> None:
    assert SIZE.convert(text, None, None) == number


@pytest.mark.parametrize("text", ["", "big", "-1", "nan", "inf", "1e999", "5 bags", "GB", "1,5GB", "0inf", "0 bags"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"write 500, 80kB, 1\.5GB or 2GiB"):
        SIZE.convert(text, None, None)
