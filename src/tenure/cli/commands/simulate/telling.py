"""The result of a simulation, for people and for programs."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.cli.terminal.output import console, plain_table, plural, say_json, say_line
from tenure.simulation.bars import bars
from tenure.simulation.measure import measures_for, share, span
from tenure.simulation.pricing import Pricing
from tenure.simulation.result import Measures, Result
from tenure.simulation.scenario import Scenario
from tenure.timing.why import amount

if TYPE_CHECKING:
    from rich.table import Table

#: Between two columns.
_GAP = 2
_SIZE_FIGURES = ("runs", "twice", "at once", "dead", "recovery", "in vain", "beats")
#: From this width on they stand in one line.
_WIDE = 80


def heading(scenario: Scenario, told: str) -> str:
    """The scenario in one line."""
    words = [
        f"{plural(len(scenario.works), 'message')}, {told}",
        f"{plural(scenario.workers, 'worker')} × {plural(scenario.slots, 'slot')}",
        "a backlog" if scenario.rate is None else f"{_rate(scenario.rate)} arrive",
    ]
    if scenario.crashes_an_hour:
        words.append(
            f"{scenario.crashes_an_hour:g} {'crash' if scenario.crashes_an_hour == 1 else 'crashes'} an hour and worker"
        )
    else:
        words.append(f"crashes in {share(scenario.crash_rate)} of runs")
    words.append(f"{share(scenario.delete_failure_rate)} of deletes fail")
    return "; ".join([*words, f"seed {scenario.seed}"])


def _rate(a_second: float) -> str:
    return f"{a_second:g} a second" if a_second >= 1 else f"{a_second * 3600:g} an hour"


def say(results: Sequence[Result], scenario: Scenario, pricing: Pricing, told: str) -> None:
    """The table, the sizes if there are any, and the bars."""
    out = console()
    whole = not out.is_terminal
    out.print(heading(scenario, told), markup=False, soft_wrap=whole)
    for result in results:
        done, of = result.measures.finished, result.measures.messages
        if not result.complete:
            out.print(
                f"{result.policy} was interrupted: what follows is of the {of:,} messages that had begun,"
                f" of {len(scenario.works):,}.",
                soft_wrap=whole,
            )
        elif result.stuck:
            cut = result.cut_in_a_row
            why = f", because scale-down stopped the last {cut:,} runs before they were over" if cut else ""
            out.print(
                f"{result.policy} made no progress and was stopped: after {span(result.seconds)} {of - done:,} of "
                f"{of:,} "
                f"were not done{why}.",
                soft_wrap=whole,
            )
    for table in tables(results, pricing, out.width):
        out.print()
        out.print(table)
    if any(result.by_size for result in results):
        out.print()
        out.print(sizes(results, out.width))
    for line in bars(results, pricing, out.width):
        out.print(line, markup=False)


def tables(results: Sequence[Result], pricing: Pricing, width: int) -> "Iterator[Table]":
    """One table, if the terminal is wide enough for it; else what does not fit stands below."""
    measures = measures_for(results)
    labels = [measure.label for measure in measures]
    columns = [[measure.tell(measure.value(result, pricing)) for measure in measures] for result in results]
    left = width - max(map(len, labels))
    start, used = 0, 0
    for place, (result, column) in enumerate(zip(results, columns, strict=True)):
        wide = max(map(len, (result.policy, *column))) + _GAP
        if start < place and used + wide > left:
            yield _table(labels, results[start:place], columns[start:place])
            start, used = place, 0
        used += wide
    yield _table(labels, results[start:], columns[start:])


def _table(labels: Sequence[str], results: Sequence[Result], columns: Sequence[Sequence[str]]) -> "Table":
    names = [result.policy for result in results]
    rows = plain_table("", *names, right=tuple(names))
    for cells in zip(labels, *columns, strict=True):
        rows.add_row(*cells)
    return rows


def sizes(results: Sequence[Result], width: int) -> "Table":
    """The measures that differ by size; where the terminal is narrow, on two lines."""
    from tenure.cli.terminal.screen import stacked

    figures = _SIZE_FIGURES if width >= _WIDE else _paired(_SIZE_FIGURES)
    rows = plain_table("size", "policy", *figures, right=("size", *figures))
    for size in sorted({size for result in results for size in result.by_size}):
        for place, result in enumerate(results):
            if size in result.by_size:
                found = _figures(result.by_size[size])
                cells = found if width >= _WIDE else [stacked(*one.split("\n")) for one in _paired(found)]
                rows.add_row("" if place else amount(size), result.policy, *cells)
    rows.columns[1].no_wrap = False  # a policy and its rule stand in two lines, and no figure is cut
    for column in (rows.columns[0], *rows.columns[2:]):
        column.min_width = max(len(line) for cell in (column.header, *column.cells) for line in str(cell).split("\n"))
    return rows


def _paired(words: Sequence[str]) -> list[str]:
    """Two below each other, the second half under the first."""
    half = (len(words) + 1) // 2
    return [f"{one}\n{below}" for one, below in itertools.zip_longest(words[:half], words[half:], fillvalue="")]


def _figures(found: Measures) -> list[str]:
    return [
        f"{found.runs / found.messages:.2f}",
        share(found.duplicate_share),
        share(found.overlap_share),
        share(found.given_up_share),
        span(found.recovery_p99),
        share(found.wasted_share),
        f"{found.beats / found.messages:.1f}",
    ]


#: Of these only the number is shown.
_LONG = ("works", "recorded")


def say_document(results: Sequence[Result], scenario: Scenario, pricing: Pricing, told: str) -> None:
    """Print one JSON document."""
    scene = {name: value for name, value in msgspec.structs.asdict(scenario).items() if name not in _LONG}
    say_json(
        {
            "scenario": {
                **scene,
                "messages": len(scenario.works),
                "durations": told,
                "recorded": len(scenario.recorded),
            },
            "prices": msgspec.structs.asdict(pricing),
            "results": [_document(result, pricing) for result in results],
        }
    )


def _document(result: Result, pricing: Pricing) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(result)
    told["by_size"] = [
        {"size": size, **msgspec.to_builtins(measures)} for size, measures in sorted(result.by_size.items())
    ]
    figures = {measure.name: measure.value(result, pricing) for measure in measures_for([result])}
    return {**told, "figures": figures}


def tell_written(path: object) -> None:
    """Say where the plot is."""
    say_line(f"the plot is in {path}", err=True)
