"""Both tables for people: in the terminal, as JSON, and on the page docs/explanation/proof.md."""

import json
import re
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.proof.arguments import Arguments
from benchmarks.proof.environment import ROOT

PAGE = ROOT / "docs" / "explanation" / "proof.md"


def finish(document: dict[str, Any], arguments: Arguments, console: Console) -> None:
    """Print, and keep what was asked to be kept."""
    show(document, console)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if arguments.update_docs:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(insert(text, document), encoding="utf-8")
        console.print(f"{PAGE.relative_to(ROOT)} has this table now")


def show(document: dict[str, Any], console: Console) -> None:
    """In the terminal."""
    for title, head, rows in _tables(document):
        grid = Table(*head, title=title)
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
    for note in _notes(document):
        console.print(note.replace("`", "").replace("**", ""), highlight=False, markup=False, soft_wrap=True)
    for name, value in document["machine"].items():
        console.print(f"{name}: {value}", highlight=False, markup=False)
    console.print(f"made by: {document['command']}", highlight=False, markup=False)


def insert(text: str, document: dict[str, Any]) -> str:
    """The page with this table in its place."""
    kind = document["kind"]
    place = re.compile(rf"(<!-- {kind}: begin -->\n).*?(<!-- {kind}: end -->)", re.DOTALL)
    found, count = place.subn(lambda match: f"{match[1]}{markdown(document)}{match[2]}", text)
    if count != 1:
        raise ValueError(f"the page has no place for the table {kind!r}")
    return found


def markdown(document: dict[str, Any]) -> str:
    """The tables, how each contender was set up, and what it was measured on."""
    lines = [_BUSY[document["kind"]], ""] if document.get("busy") else []
    for title, head, rows in _tables(document):
        lines += [f"**{title}**", "", _line(head), _line(["---"] + ["---:"] * (len(head) - 1)), *map(_line, rows), ""]
    lines += [f"- {note}" for note in _notes(document | {"busy": False})]
    told = "; ".join(f"{name}: {value}" for name, value in document["machine"].items())
    lines += ["", f"Made by `{document['command']}`. {told[0].upper()}{told[1:]}.", ""]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


#: What stands above it, the heads of its columns, its rows.
Shown = tuple[str, list[str], list[list[str]]]


def _tables(document: dict[str, Any]) -> list[Shown]:
    return [_speed(document)] if document["kind"] == "speed" else _faults(document)


def _speed(document: dict[str, Any]) -> Shown:
    rows = sorted(document["rows"], key=lambda row: -(row["setups"]["fast"]["per_second"] or 0.0))
    head = ["", "version", "fast, messages/s", "rounds", "safe, messages/s", "sent/s"]
    cells = []
    for row in rows:
        fast, safe = row["setups"]["fast"], row["setups"].get("safe")
        between = f"{min(fast['rounds']):,.0f} to {max(fast['rounds']):,.0f}" if len(fast["rounds"]) > 1 else ""
        cells.append([
            row["name"], row["version"] or "–", _rate(fast["per_second"]), between,
            _rate(safe["per_second"]) if safe else "–", _rate(fast["sent_per_second"]),
        ])  # fmt: skip
    return "Messages a second", head, cells


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


#: What is said of a table that was made on a busy machine.
_BUSY = {
    "speed": (
        "**The machine was busy with other work** (its load average is below). Contenders that ask the server for one"
        " message at a time wait for a processor each time, and look slower than they are. Do not compare by this"
        " table: make it again on a quiet machine."
    ),
    "faults": (
        "**The machine was busy with other work** (its load average is below): what returns late may be counted as"
        " stuck."
    ),
}
#: The columns of a fault, by the field of a verdict.
_COLUMNS = {
    "lost": "lost",
    "run twice": "twice",
    "effect twice": "effects_twice",
    "overlapping": "overlapping",
    "stuck": "stuck",
    "dead": "dead",
}


def _faults(document: dict[str, Any]) -> list[Shown]:
    return [_fault(fault, document["rows"]) for fault in document["faults"]]


def _fault(fault: str, rows: list[dict[str, Any]]) -> Shown:
    cells = []
    for row in rows:
        found = row["outcomes"].get(fault, {})
        counts = [str(found.get(field, "–")) for field in ("sent", *_COLUMNS.values())]
        cells.append([row["name"], *counts, found.get("note") or found.get("reason", "")])
    name = fault.replace("_", " ")
    return name[0].upper() + name[1:], ["", "sent", *_COLUMNS, ""], cells


def _notes(document: dict[str, Any]) -> list[str]:
    """What was configured and is guaranteed, and what could not be measured."""
    notes = [_BUSY[document["kind"]]] if document.get("busy") else []
    for row in document["rows"]:
        if row["reason"]:
            notes.append(f"**{row['name']}**: {row['reason']}.")
        for mode, setup in row["setups"].items():
            notes.append(f"**{row['name']}**, {mode}: {setup['how']}. Delivery: {setup['guarantee']}.")
    return notes
