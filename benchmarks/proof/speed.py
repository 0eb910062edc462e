"""`make proof-speed`: how fast each contender runs messages that do nothing, in turns, on this machine.

    python -m benchmarks.proof.speed [--only NAMES] [--quick] [--json FILE] [--update-docs]

A round: the server is emptied, the contender's own producer fills its queue, its workers start, and the handlers count.
The rate is taken from the tenth hundredth of the messages to the ninety-fifth, so that neither the start of a process
nor the last batch is in it. Every contender has a turn in every round; the figure is the median of the rounds.
"""

import itertools
import json
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console
from tests.servers import RedisServer, start_redis

from benchmarks.proof import page
from benchmarks.proof.arguments import Arguments, read_arguments
from benchmarks.proof.environment import Environment, folder, install
from benchmarks.proof.machine import describe, is_busy
from benchmarks.proof.peer import Contender, Mode, chosen, contenders
from benchmarks.proof.program import Failed, Program

#: Seconds until a worker has run its first message, or is given up.
PATIENCE = 30.0
#: A turn ends so many seconds after its first message at the latest, and has the rate of what was done by then.
LONGEST = {True: 5.0, False: 20.0}
#: From fewer messages no rate is made.
FEWEST = 10
#: So often a process tells, and after 50 ms (`handler/work.py`).
STEP = 50
#: Messages of the first turn, which finds out how many make a turn of `SECONDS`.
FIRST = 2_000
SECONDS = {True: 2.0, False: 5.0}
ROUNDS = {True: 1, False: 5}
SMALLEST, LARGEST = 500, 200_000
#: The part of the messages between which the rate is taken.
FROM, UNTIL = 0.10, 0.95


class Rates(NamedTuple):
    """What one contender did in one configuration: messages a second in each round, and of its producer."""

    drained: list[float]
    sent: list[float]


class Figures(NamedTuple):
    """A row."""

    contender: Contender
    version: str
    #: By configuration; None: it has none, or it did not come to an end.
    rates: dict[Mode, Rates | None]
    #: Why there are no figures.
    reason: str = ""


class _Turns:
    """Who has a turn, with how many messages, and what came of it."""

    def __init__(self, found: list[Contender], environments: dict[str, Environment]) -> None:
        """Nobody had one yet."""
        self.all = [(one, mode) for one in found if one.key in environments for mode in one.modes]
        self._counts: dict[tuple[str, Mode], int] = {}
        self.rates: dict[tuple[str, Mode], Rates] = {}

    def count(self, one: Contender, mode: Mode) -> int:
        """Messages of its next turn. 0: it failed."""
        return self._counts.get((one.key, mode), FIRST)

    def add(self, one: Contender, mode: Mode, drained: float, sent: float, seconds: float) -> None:
        """One rate more. That of the first turn, which is a short one, counts only until there is another."""
        turn = (one.key, mode)
        if self._counts.setdefault(turn, 0):
            self.rates[turn].drained.append(drained)
            self.rates[turn].sent.append(sent)
            return
        self._counts[turn] = int(min(LARGEST, max(SMALLEST, drained * seconds / UNTIL)))
        self.rates[turn] = Rates([drained], [sent])

    def drop_first(self) -> None:
        """Where there are others."""
        for rates in self.rates.values():
            if len(rates.drained) > 1:
                del rates.drained[0], rates.sent[0]

    def give_up(self, one: Contender, mode: Mode) -> None:
        """It has no more turns."""
        self._counts[one.key, mode] = 0


def measure(found: list[Contender], console: Console, *, quick: bool, budget: float) -> list[Figures]:
    """Every contender in every configuration, in turns."""
    environments, reasons = install(found, console)
    turns = _Turns(found, environments)
    latest = time.monotonic() + budget
    with folder() as place, start_redis("valkey9", place) as server:
        for number, (one, mode) in itertools.product(range(ROUNDS[quick] + 1), turns.all):
            if not (count := turns.count(one, mode)):
                continue
            if time.monotonic() > latest:
                reasons.setdefault(one.key, f"{mode}: no time was left for every round (`--quick`)")
                continue
            try:
                drained, sent = _round(one, environments[one.key], mode, server, count, LONGEST[quick])
            except Failed as error:
                turns.give_up(one, mode)
                told = reasons[one.key] = f"{mode}: {error}"
            else:
                turns.add(one, mode, drained, sent, SECONDS[quick])
                told = f"{mode}: {drained:,.0f}/s"
            console.print(f"round {number}, {one.name}, {told}", highlight=False, markup=False)
    turns.drop_first()
    return [
        Figures(
            one,
            environments[one.key].versions() if one.key in environments else "",
            {mode: turns.rates.get((one.key, mode)) for mode in one.modes},
            reasons.get(one.key, ""),
        )
        for one in found
    ]


def _round(
    one: Contender, environment: Environment, mode: Mode, server: RedisServer, count: int, longest: float
) -> tuple[float, float]:
    """Messages a second, run and sent. Raises Failed."""
    server.ask("FLUSHALL")
    with folder() as place:
        store = f"sqlite:///{place}/proof.db" if one.store == "sqlite" else server.url
        program = Program(one, environment, mode, place, for_speed=True, port=server.port, store=store)
        try:
            sent = count / program.ask("fill", str(count))["seconds"]
            program.start()
            _wait(program, count, longest)
        finally:
            program.end()
        return _rate(program), sent


def _wait(program: Program, count: int, longest: float) -> None:
    """Until nearly all are done, or `longest` seconds after the first one was."""
    deadline, has_begun = time.monotonic() + PATIENCE, False
    while time.monotonic() < deadline:
        lines = _lines(program.trace)
        # Each process may be ahead of what it told; RQ has a process for each message, which tells at once.
        ahead = sum(STEP for done in _last(lines).values() if done >= STEP)
        if _total(lines) + ahead > count * UNTIL:
            return
        if lines and not has_begun:
            deadline, has_begun = time.monotonic() + longest, True
        if all(worker.is_over for worker in program.workers):
            break
        time.sleep(0.1)


def _total(lines: list[tuple[int, int, float]]) -> int:
    return sum(_last(lines).values())


def _last(lines: list[tuple[int, int, float]]) -> dict[int, int]:
    return {pid: done for pid, done, _ in lines}


def _rate(program: Program) -> float:
    """Over all processes, without the first tenth of what was done."""
    last: dict[int, int] = defaultdict(int)
    lines = sorted(_lines(program.trace), key=lambda line: line[2])
    whole = _total(lines)
    begin: tuple[int, float] | None = None
    for pid, done, at in lines:
        last[pid] = done
        total = sum(last.values())
        if begin is None and total >= whole * FROM:
            begin = (total, at)
    if begin is None or whole - begin[0] < FEWEST:
        said = [line for worker in program.workers for line in worker.said.strip().splitlines()[-1:]]
        raise Failed(f"only {whole:,} messages were run; it said {said}")
    return (whole - begin[0]) / (lines[-1][2] - begin[1])


def _lines(trace: Path) -> list[tuple[int, int, float]]:
    text = trace.read_text(encoding="utf-8") if trace.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    lines = [json.loads(line) for line in whole.splitlines()]
    return [(line["pid"], line["done"], line["at"]) for line in lines]


def document(figures: list[Figures], machine: dict[str, str], arguments: Arguments) -> dict[str, object]:
    """For `--json`, and for the page."""
    rows = []
    for one in figures:
        peer = one.contender.peer
        setups = {
            mode: {
                "per_second": median(rates.drained) if rates else None,
                "rounds": rates.drained if rates else [],
                "sent_per_second": median(rates.sent) if rates else None,
                "how": peer.setup(mode).scaled_as(peer.fast).told,
                "guarantee": peer.setup(mode).guarantee,
            }
            for mode, rates in one.rates.items()
        }
        row = {"key": one.contender.key, "name": one.contender.name, "version": one.version, "reason": one.reason}
        rows.append(row | {"setups": setups})
    rounds = ROUNDS[arguments.quick]
    return {
        "kind": "speed",
        "command": arguments.command("proof-speed"),
        "rounds": rounds,
        "machine": machine,
        "rows": rows,
    }


def main() -> None:
    """Measure what was asked for."""
    arguments = read_arguments("proof-speed", {one.key for one in contenders("redis", "sqlite")})
    console = Console()
    busy = is_busy()
    with folder() as place:
        machine = describe(place)
    found = chosen(contenders("redis", "sqlite"), arguments.only)
    figures = measure(found, console, quick=arguments.quick, budget=arguments.budget)
    page.finish(document(figures, machine, arguments) | {"busy": busy}, arguments, console)


if __name__ == "__main__":
    main()
