"""The headline: one sentence that answers "is work flowing, what is stuck, since when". Pure.

Problems come first, the worst before the others. Of several alike the first is named, with the number of the others,
as in (+2). The same sentence is in the snapshot for programs.
"""

from collections.abc import Iterator

from tenure.client.operations.overview.format import age, rate, share, whole
from tenure.client.operations.overview.rows import Headline, Mood, Overview, QueueOverview
from tenure.text.plural import plural

#: A sweep may come this much later than it is due: a busy machine is no trouble.
_LATE_SWEEP_SECONDS = 15.0
#: A worker is heard every second or so; one that is silent for longer may be frozen.
_SILENT_SECONDS = 10.0
#: A lease that ended a moment ago is returned by the next sweep.
_OVERDUE_SECONDS = 1.0
#: From this part of failed runs on, and from so long a wait in a growing queue.
_MANY_ERRORS, _LONG_WAIT_SECONDS = 0.1, 60.0
#: Of fewer runs nothing is said.
_FEW_RUNS = 5


def headline(overview: Overview) -> Headline:
    """Return the fact that is most worth knowing."""
    found = sorted(_troubles(overview), key=lambda one: one.mood is not Mood.BAD)
    if not found:
        return Headline(Mood.WELL, _well(overview))
    more = f" (+{len(found) - 1})" if len(found) > 1 else ""
    return Headline(found[0].mood, f"{found[0].text}{more}")


def _troubles(overview: Overview) -> Iterator[Headline]:
    yield from _overdue(overview)
    yield from _unserved(overview)
    yield from _gone(overview)
    yield from _failing(overview)
    yield from _growing(overview)
    yield from _paused(overview)
    yield from _unswept(overview)


def _overdue(overview: Overview) -> Iterator[Headline]:
    late = [one for one in overview.leases if overview.now - one.deadline > _OVERDUE_SECONDS]
    if late:
        first = min(late, key=lambda one: one.deadline)
        worst = age(overview.now - first.deadline)
        verb = "is" if len(late) == 1 else "are"
        held = f"{first.task or first.id} on {_name(first.owner)}"
        text = f"{plural(len(late), 'lease')} {verb} overdue, for {worst}: {held}; {_next_sweep(overview)}"
        yield Headline(Mood.BAD, text)


def _unserved(overview: Overview) -> Iterator[Headline]:
    stuck = [
        one for one in overview.queues if one.waiting and not one.workers and one.paused is None and not one.running
    ]
    if not stuck:
        return
    number = whole(sum(one.waiting or 0 for one in stuck), estimated=any(one.estimated for one in stuck))
    oldest = max((one.oldest_seconds for one in stuck if one.oldest_seconds is not None), default=None)
    since = "" if oldest is None else f", for {age(oldest)}"
    if not overview.total.workers:
        yield Headline(Mood.BAD, f"No worker is alive and {_messages(number)} wait{_s(number)}{since}")
    elif len(stuck) == 1:
        text = f"No worker serves {stuck[0].queue}: {_messages(number)} wait{_s(number)} there{since}"
        yield Headline(Mood.BAD, text)
    else:
        text = (
            f"No worker serves {len(stuck)} queues ({stuck[0].queue}, …): {_messages(number)} wait{_s(number)}{since}"
        )
        yield Headline(Mood.BAD, text)


def _gone(overview: Overview) -> Iterator[Headline]:
    for one in overview.workers:
        if one.gone and one.holds:
            held = plural(one.holds, "message")
            yield Headline(
                Mood.SOON, f"Worker {one.name} is gone ({one.gone}) and held {held}; {_next_sweep(overview)}"
            )
        elif one.has_presence and not one.gone and (one.silent_seconds or 0.0) > _SILENT_SECONDS:
            yield Headline(Mood.SOON, f"Worker {one.name} was silent for {age(one.silent_seconds)}")


def _failing(overview: Overview) -> Iterator[Headline]:
    """The task with most failures, where many of its runs fail; more than one run, so that it can be said."""
    runs = {one: (one.flow.out_per_second or 0.0) * overview.window_seconds for one in overview.tasks}
    bad = [one for one in overview.tasks if (one.flow.error_share or 0.0) >= _MANY_ERRORS and runs[one] >= _FEW_RUNS]
    if bad:
        worst = max(bad, key=lambda one: (one.flow.error_share or 0.0) * runs[one])
        others = f" (and of {plural(len(bad) - 1, 'other task')})" if len(bad) > 1 else ""
        part = share(worst.flow.error_share)
        yield Headline(Mood.SOON, f"{part} of the runs of {worst.task} failed in the last minute{others}")


def _growing(overview: Overview) -> Iterator[Headline]:
    grows = [one for one in overview.queues if _is_growing(one)]
    if grows:
        worst = max(grows, key=lambda one: one.oldest_seconds or 0.0)
        flow = f"{rate(worst.flow.in_per_second)}/s in, {rate(worst.flow.out_per_second)}/s out"
        waits = f"{whole(worst.waiting, estimated=worst.estimated)} waiting, oldest {age(worst.oldest_seconds)}"
        yield Headline(Mood.SOON, f"{worst.queue} grows: {flow}, {waits}")


def _is_growing(row: QueueOverview) -> bool:
    return bool(row.grows and row.workers) and row.paused is None and (row.oldest_seconds or 0.0) > _LONG_WAIT_SECONDS


def _paused(overview: Overview) -> Iterator[Headline]:
    for one in overview.queues:
        if one.paused is not None and one.waiting:
            by = f" by {one.paused.by}" if one.paused.by else ""
            since = age(overview.now - one.paused.at)
            number = whole(one.waiting, estimated=one.estimated)
            yield Headline(Mood.SOON, f"{one.queue} is paused{by} for {since}: {_messages(number)} wait{_s(number)}")


def _unswept(overview: Overview) -> Iterator[Headline]:
    due = overview.next_sweep_at
    if due is not None and overview.now - due > _LATE_SWEEP_SECONDS and overview.total.workers:
        since = age(overview.now - (overview.last_sweep_at or due))
        yield Headline(Mood.SOON, f"The last sweep was {since} ago: overdue leases are not returned")


def _well(overview: Overview) -> str:
    workers = plural(overview.total.workers, "worker")
    swept = "" if overview.last_sweep_at is None else f", swept {age(overview.now - overview.last_sweep_at)} ago"
    if not overview.total.waiting and not overview.total.running and not overview.total.flow.out_per_second:
        nothing = (
            "nothing waits, nothing runs"
            if overview.total.waiting == 0 and overview.total.running == 0
            else "nothing to see"
        )
        return f"{'All well' if overview.total.workers else 'Idle'}: {nothing}, {workers}{swept}"
    rates = {"in": overview.total.flow.in_per_second, "out": overview.total.flow.out_per_second}
    flow = [f"{rate(number)}/s {word}" for word, number in rates.items() if number is not None]
    oldest = overview.total.oldest_seconds
    waits = "nothing waits" if overview.total.waiting == 0 else None if oldest is None else f"oldest {age(oldest)}"
    return f"All well: {', '.join([*flow, *([waits] if waits else []), workers])}{swept}"


def _next_sweep(overview: Overview) -> str:
    if overview.next_sweep_at is None:
        return "no sweep runs here"
    seconds = overview.next_sweep_at - overview.now
    return f"next sweep in {age(seconds + 0.5)}" if seconds > 0 else "the sweep is due now"


def _messages(number: str) -> str:
    return f"{number} message{_plural(number)}"


def _plural(number: str) -> str:
    return "" if number == "1" else "s"


def _s(number: str) -> str:
    return "s" if number == "1" else ""


def _name(owner: str) -> str:
    return owner.rpartition("/")[0] or owner
