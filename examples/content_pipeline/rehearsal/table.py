"""Before and after, side by side."""

from collections.abc import Callable

from .outcome import Outcome

_ROWS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("pages on the site", lambda one: f"{one.count.pages}"),
    ("told to readers twice", lambda one: f"{one.count.duplicates}"),
    ("lost", lambda one: f"{one.count.lost}"),
    ("every story is there after", lambda one: span(one.seconds)),
    ("what a killed worker held is back after", lambda one: span(slowest(one))),
    ("summaries made", lambda one: f"{one.summaries}"),
    ("messages that asked for a build", lambda one: f"{one.requests}"),
    ("builds of the whole site", lambda one: f"{one.builds}"),
    ("broken feeds", lambda one: f"{len(one.put_aside)} put aside" if one.put_aside else "every 10 min again"),
)


def comparison(before: Outcome, after: Outcome) -> str:
    """The table, as Markdown."""
    rows = [("", "before", "after"), *((name, show(before), show(after)) for name, show in _ROWS)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"| {a:<{widths[0]}} | {b:>{widths[1]}} | {c:>{widths[2]}} |" for a, b, c in rows]
    lines.insert(1, f"|{'-' * (widths[0] + 2)}|{'-' * (widths[1] + 1)}:|{'-' * (widths[2] + 1)}:|")
    return "\n".join(lines)


def slowest(outcome: Outcome) -> float:
    """The longest that a message of a killed worker waited."""
    return max((kill.slowest_seconds or 0.0 for kill in outcome.kills), default=0.0)


def span(seconds: float) -> str:
    """`31 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
