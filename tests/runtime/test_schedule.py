"""What a schedule is, and when it ticks: over changed clocks, and for everything that people write wrongly."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tenure.errors import BadSchedule
from tenure.tasks.call import Call
from tenure.tasks.schedule import Schedule, schedule_from
from tenure.timing.cron import Cron
from tenure.timing.interval import Every

DAY = 86_400.0


class Target(msgspec.Struct, frozen=True):
    name: str = "work"
    queue: str = "mail"
    webhook: str | None = None
    follows_client: bool = False


def call(**options: Any) -> Call[object]:
    bound: Call[object] = Call(Target(), msgspec.Raw(b"{}"))
    return bound.having(**options)


def make(**given: Any) -> Schedule:
    fields: dict[str, Any] = {"name": "nightly", "call": call(), **given}
    return schedule_from(fields.pop("name"), fields.pop("call"), **fields)


def at(text: str) -> float:
    """A moment, from ISO 8601 with an offset."""
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo is not None
    return moment.timestamp()


def ticks(line: str, zone: str, after: str, until: str) -> list[str]:
    """All ticks in between, as the clocks of the zone show them."""
    cron, found, moment = Cron(line, zone), [], at(after)
    while (moment := cron.next_after(moment)) <= at(until):
        found.append(cron.iso(moment))
    return found


# --- a line, on days without anything special -----------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "after", "then"),
    [
        ("0 3 * * *", "2026-06-01T03:00:00+00:00", "2026-06-02T03:00:00+00:00"),
        ("0 3 * * *", "2026-06-01T02:59:59.999999+00:00", "2026-06-01T03:00:00+00:00"),
        ("*/20 * * * *", "2026-06-01T03:00:00+00:00", "2026-06-01T03:20:00+00:00"),
        ("30 9 * * mon-fri", "2026-06-05T12:00:00+00:00", "2026-06-08T09:30:00+00:00"),
        ("0 0 29 2 *", "2026-06-05T12:00:00+00:00", "2028-02-29T00:00:00+00:00"),
        ("0 0 L * *", "2026-02-05T12:00:00+00:00", "2026-02-28T00:00:00+00:00"),
        ("0 0 * * FRI#2", "2026-06-01T00:00:00+00:00", "2026-06-12T00:00:00+00:00"),
        ("0 0 1,15 * MON", "2026-06-02T00:00:00+00:00", "2026-06-08T00:00:00+00:00"),
        ("@hourly", "2026-06-01T03:10:00+00:00", "2026-06-01T04:00:00+00:00"),
        ("  0   3 * * * ", "2026-06-01T00:00:00+00:00", "2026-06-01T03:00:00+00:00"),
    ],
)
def test_a_line_ticks_as_crontab_says(line: str, after: str, then: str) -> None:
    assert Cron(line).iso(Cron(line).next_after(at(after))) == then


def test_a_moment_less_than_a_microsecond_before_a_tick_is_before_it() -> None:
    tick = at("2026-06-01T03:00:00+00:00")
    assert Cron("0 3 * * *").next_after(math.nextafter(tick, 0.0)) == tick


def test_times_are_those_of_the_zone() -> None:
    assert ticks("0 3 * * *", "Asia/Kolkata", "2026-06-01T00:00:00+05:30", "2026-06-01T23:00:00+05:30") == [
        "2026-06-01T03:00:00+05:30"
    ]


def test_the_last_tick_of_a_span_includes_its_end_and_not_its_beginning() -> None:
    cron, tick = Cron("0 3 * * *"), at("2026-06-01T03:00:00+00:00")
    assert cron.last_between(tick - 1, tick) == tick
    assert cron.last_between(tick - 1, tick + DAY - 1) == tick
    assert cron.last_between(0.0, tick - 0.001) == tick - DAY
    assert cron.last_between(tick, tick + DAY - 1) is None


def test_spec_is_for_people() -> None:
    assert Cron(" 0 3  * * *", "Europe/Berlin").spec == "0 3 * * * Europe/Berlin"
    assert Cron("@daily").spec == "0 0 * * * UTC"


# --- changed clocks -------------------------------------------------------------------------------------

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


@pytest.mark.parametrize(
    ("line", "zone", "after", "until", "expected"),
    [
        # Berlin leaves 02:00 to 03:00 out on 29 March 2026.
        ("30 2 * * *", BERLIN, "2026-03-28T00:00+01:00", "2026-03-30T12:00+02:00",
         ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("0,20,40 2 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T23:00+02:00", ["2026-03-29T03:00:00+02:00"]),
        ("0 1-4 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T23:00+02:00",
         ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"]),
        ("0 * * * *", BERLIN, "2026-03-29T00:30+01:00", "2026-03-29T04:30+02:00",
         ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"]),
        ("*/30 2 * * *", BERLIN, "2026-03-29T00:30+01:00", "2026-03-30T02:15+02:00", ["2026-03-30T02:00:00+02:00"]),
        # Berlin has 02:00 to 03:00 twice on 25 October 2026.
        ("30 2 * * *", BERLIN, "2026-10-24T12:00+02:00", "2026-10-26T12:00+01:00",
         ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("30 2 * * *", BERLIN, "2026-10-25T02:10+01:00", "2026-10-26T12:00+01:00", ["2026-10-26T02:30:00+01:00"]),
        ("0 1-3 * * *", BERLIN, "2026-10-25T00:30+02:00", "2026-10-25T12:00+01:00",
         ["2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"]),
        ("0 * * * *", BERLIN, "2026-10-25T00:30+02:00", "2026-10-25T03:30+01:00",
         ["2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00",
          "2026-10-25T03:00:00+01:00"]),
        ("*/30 2 25 10 *", BERLIN, "2026-01-01T00:00+01:00", "2026-12-31T00:00+01:00",
         ["2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00",
          "2026-10-25T02:30:00+01:00"]),
        # New York: 8 March and 1 November 2026.
        ("15 2 * * *", NEW_YORK, "2026-03-08T00:00-05:00", "2026-03-09T12:00-04:00",
         ["2026-03-08T03:00:00-04:00", "2026-03-09T02:15:00-04:00"]),
        ("15 1 * * *", NEW_YORK, "2026-11-01T00:00-04:00", "2026-11-02T12:00-05:00",
         ["2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"]),
        ("15 * * * *", NEW_YORK, "2026-11-01T00:30-04:00", "2026-11-01T02:30-05:00",
         ["2026-11-01T01:15:00-04:00", "2026-11-01T01:15:00-05:00", "2026-11-01T02:15:00-05:00"]),
        # Lord Howe moves by half an hour: back at 02:00 on 5 April 2026, on at 02:00 on 4 October.
        ("45 1 * * *", LORD_HOWE, "2026-04-05T00:00+11:00", "2026-04-06T12:00+10:30",
         ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]),
        ("45 * * * *", LORD_HOWE, "2026-04-05T01:00+11:00", "2026-04-05T03:00+10:30",
         ["2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30"]),
        ("15 2 * * *", LORD_HOWE, "2026-10-04T00:00+10:30", "2026-10-05T12:00+11:00",
         ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]),
        ("15 * * * *", LORD_HOWE, "2026-10-04T01:00+10:30", "2026-10-04T04:00+11:00",
         ["2026-10-04T01:15:00+10:30", "2026-10-04T03:15:00+11:00"]),
        # Santiago leaves out the first hour of 6 September 2026: midnight itself is not there.
        ("0 0 * * *", "America/Santiago", "2026-09-05T12:00-04:00", "2026-09-07T12:00-03:00",
         ["2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"]),
    ],
)  # fmt: skip
def test_changed_clocks(line: str, zone: str, after: str, until: str, expected: list[str]) -> None:
    assert ticks(line, zone, after, until) == expected


def shown(moment: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None)


def by_hand(minutes: set[int], hours: set[int], zone: ZoneInfo, span: range, *, fixed: bool) -> list[float]:
    """All ticks of a span, minute by minute, as the documentation says it."""
    if not fixed:
        return [t for t in span if shown(t, zone).minute in minutes and shown(t, zone).hour in hours]
    found, newest = set(), shown(span[0], zone)
    for t in span[1:]:  # the first moment at which clocks show a time that fits, or a later one
        while newest < shown(t, zone):
            newest += timedelta(minutes=1)
            if newest.minute in minutes and newest.hour in hours:
                found.add(t)
    return sorted(found)


CHANGES = [
    (BERLIN, "2026-03-29T01:00Z"), (BERLIN, "2026-10-25T01:00Z"), (NEW_YORK, "2026-03-08T07:00Z"),
    (NEW_YORK, "2026-11-01T06:00Z"), (LORD_HOWE, "2026-04-04T15:00Z"), (LORD_HOWE, "2026-10-03T15:30Z"),
    ("America/Santiago", "2026-09-06T04:00Z"), ("America/Santiago", "2026-04-05T03:00Z"),
    ("Antarctica/Troll", "2026-10-25T01:00Z"), ("Asia/Kolkata", "2026-06-01T00:00Z"),
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    change=st.sampled_from(CHANGES),
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=3),
    hours=st.sets(st.integers(0, 23), min_size=1, max_size=3),
    kind=st.sampled_from(["fixed", "any hour", "any minute"]),
    offset=st.integers(-6 * 3600, 6 * 3600),
)
@example(change=CHANGES[4], minutes={45}, hours={1}, kind="any hour", offset=-60)
@example(change=CHANGES[1], minutes={30}, hours={2}, kind="fixed", offset=600)
def test_forward_and_back_agree_with_a_walk_minute_by_minute(
    change: tuple[str, str], minutes: set[int], hours: set[int], kind: str, offset: int
) -> None:
    name, moment = change
    zone, middle = ZoneInfo(name), int(at(moment))
    minute = "*" if kind == "any minute" else ",".join(map(str, sorted(minutes)))
    hour = "*" if kind == "any hour" else ",".join(map(str, sorted(hours)))
    minutes = set(range(60)) if minute == "*" else minutes
    hours = set(range(24)) if hour == "*" else hours
    span = range(middle - 36 * 3600, middle + 36 * 3600, 60)
    expected = by_hand(minutes, hours, zone, span, fixed=kind == "fixed")
    cron, wall = Cron(f"{minute} {hour} * * *", name), middle + offset
    assert cron.next_after(wall) == min(t for t in expected if t > wall)
    assert cron.last_between(0.0, wall) == max(t for t in expected if t <= wall)


# --- intervals ------------------------------------------------------------------------------------------


@given(seconds=st.floats(1.0, 366 * DAY) | st.integers(1, 100_000), wall=st.floats(0.0, 4e9))
@settings(max_examples=200, deadline=None)
def test_intervals_tick_at_their_multiples(seconds: float, wall: float) -> None:
    every = Every(seconds)
    then = every.next_after(wall)
    assert wall < then <= wall + seconds * (1 + 1e-6)
    assert then / seconds == pytest.approx(round(then / seconds), abs=1e-6)
    assert every.last_between(wall, then) == then
    assert every.last_between(then, then) is None
    assert every.next_after(then) > then
    assert every.next_after(math.nextafter(then, 0.0)) == then


@pytest.mark.parametrize(
    ("interval", "spec"),
    [
        (1, "every 1 s"),
        (90, "every 90 s"),
        (300, "every 5 min"),
        (5400, "every 90 min"),
        (1.5, "every 1.5 s"),
        (timedelta(hours=6), "every 6 h"),
        (timedelta(days=7), "every 7 d"),
    ],
)
def test_an_interval_is_shown_in_its_largest_whole_unit(interval: float | timedelta, spec: str) -> None:
    assert make(every=interval).moments.spec == spec


# --- what people write wrongly --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cron": "60 * * * *"}, r"'60' does not say a minute \(0-59\)"),
        ({"cron": "0 24 * * *"}, r"'24' does not say an hour"),
        ({"cron": "0 0 0 * *"}, r"'0' does not say a day of the month"),
        ({"cron": "0 0 * FEBR *"}, r"'FEBR' does not say a month"),
        ({"cron": "0 0 * * FRI-MON"}, r"'FRI-MON' does not say a day of the week"),
        ({"cron": "*/0 * * * *"}, r"'\*/0' does not say a minute"),
        ({"cron": "61 25 * * *"}, r"as in '30 3 \* \* MON-FRI'"),
        ({"cron": "0 3 * *"}, "has 4 fields and not five"),
        ({"cron": "*/10 * * * * *"}, "6 fields and not five.*every="),
        ({"cron": "@reboot"}, "has 1 fields"),
        ({"cron": ""}, "has 0 fields"),
        ({"cron": "9" * 5000}, "is not a cron line"),
        ({"cron": f"{'9' * 900} * * * *"}, "does not say a minute"),
        ({"cron": 5}, "is not a cron line"),
        ({"cron": "0 0 31 2 *"}, "never fires"),
        ({"cron": "0 0 31 4,6,9,11 *"}, "never fires"),
        ({"cron": "0 3 * * *", "timezone": "Europe/Berln"}, "timezone='Europe/Berln'.*did you mean 'Europe/Berlin'"),
        ({"cron": "0 3 * * *", "timezone": "Mars"}, "timezone='Mars'"),
        ({"cron": "0 3 * * *", "timezone": "../../etc/passwd"}, "is not known"),
        ({"cron": "0 3 * * *", "timezone": "Europe"}, "is not known"),
        ({"cron": "0 3 * * *", "timezone": ""}, "names like 'Europe/Berlin'"),
        ({"cron": "0 3 * * *", "timezone": None}, "timezone=None"),
        ({}, "neither was given"),
        ({"cron": "0 3 * * *", "every": 5}, "both were given"),
        ({"every": 0.99}, "from 1 second to 366 days"),
        ({"every": 367 * DAY}, "from 1 second to 366 days"),
        ({"every": timedelta(0)}, "from 1 second"),
        ({"every": math.nan}, "from 1 second"),
        ({"every": True}, "from 1 second"),
        ({"every": "5m"}, "every='5m'"),
        ({"every": 60, "timezone": "Europe/Berlin"}, "has no time zone"),
        ({"every": 60, "missed": "all"}, "missed='all' is neither 'once' nor 'skip'"),
        ({"every": 60, "name": " "}, "must be a non-empty text"),
        ({"every": 60, "name": 5}, "must be a non-empty text"),
        ({"every": 60, "call": Target()}, r"is not a call.*task\.bind"),
        ({"every": 60, "options": {"id": "x"}}, "id= would be the same for every tick"),
        ({"every": 60, "call": call(key="x")}, "key= would be the same for every tick"),
        ({"every": 60, "options": {"at": datetime(2027, 1, 1, tzinfo=UTC)}}, "at= would be the same"),
        ({"every": 60, "options": {"expires": datetime(2027, 1, 1, tzinfo=UTC)}}, "expires= would be the same"),
        ({"every": 60, "options": {"priority": 11}}, "priority=11"),
        ({"every": 60, "options": {"colour": "red"}}, "colour"),
        ({"every": 60, "options": {"headers": {"a": 1}}}, "headers: 1 is not a text"),
        ({"every": 60, "call": call(unique="")}, "unique=''"),
    ],
)
def test_what_is_wrong_is_said_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadSchedule, match=said) as caught:
        make(**given)
    assert caught.value.code == "bad_schedule"
    assert str(caught.value).startswith("schedule ")


def test_without_any_zone_database_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set[str])
    with pytest.raises(BadSchedule, match=r"'Mars'.*pip install tzdata"):
        Cron("0 3 * * *", "Mars")
    assert Cron("0 3 * * *").spec == "0 3 * * * UTC"


@given(line=st.text("0123456789*,-/#LWMONJA ", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_line_that_ticks_or_is_refused(line: str) -> None:
    try:
        cron = Cron(line, BERLIN)
    except BadSchedule:
        return
    tick = cron.next_after(at("2026-06-01T00:00Z"))
    assert cron.last_between(tick - 1, tick) == tick


# --- the value ------------------------------------------------------------------------------------------


def test_a_schedule_holds_what_it_was_given() -> None:
    bound = call()
    schedule = make(
        call=bound, cron="0 3 * * *", timezone=BERLIN, missed="skip", options={"priority": 7, "unique_window": 60}
    )
    assert (schedule.name, schedule.call, schedule.missed) == ("nightly", bound, "skip")
    assert schedule.moments == Cron("0 3 * * *", BERLIN)
    assert schedule.options == {"priority": 7, "unique_window": 60}
    assert make(every=timedelta(minutes=5)).moments == Every(300.0)


def test_nothing_can_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        cast("Any", make(every=60)).missed = "skip"


def test_a_schedule_says_when_it_ticks_next() -> None:
    schedule = make(cron="0 3 * * *", timezone="Europe/Berlin")
    assert schedule.next_after(datetime(2026, 7, 1, tzinfo=UTC)) == datetime(2026, 7, 1, 1, tzinfo=UTC)
