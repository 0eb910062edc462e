"""docs/reference/json.md and what the commands really print are the same, field by field and in both directions."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import tenure as package
from tenure.cli.root import root

from .conftest import JOBS, Run, worked
from .process import started

PAGE = Path(package.__file__).parents[2] / "docs" / "reference" / "json.md"

#: Fields that need what this test has not: an overdue lease, an act at the same moment, another kind of store.
UNSEEN = {
    "show": {"life[].noticed_at"},
    "dead show": {"life[].noticed_at"},
    "messages": {"hidden[]"},
    "dead redrive": {"not_dead_any_more[]"},
    "dead delete": {"not_dead_any_more[]"},
    "sweep": {"returned[]", "dead[]", "adopted[]"},
}
EXAMPLE = '''
import boto3

sqs = boto3.client("sqs")
for message in sqs.receive_message(QueueUrl="q", VisibilityTimeout=30)["Messages"]:
    sqs.delete_message(QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
    work(message)
'''
MORE = '''
app.schedule(resize.bind("x"), every=3600, name="hourly")


@app.task(queue="long")
async def report(ctx: Context) -> None:
    ctx.progress(0.5, "half")
    await asyncio.sleep(120)
'''

Fields = dict[str, str]


# -- the page --------------------------------------------------------------------------------------


def _tables(text: str) -> list[Fields]:
    tables: list[Fields] = [{}]
    for line in text.splitlines():
        row = re.match(r"\| `([^`]+)` \| ([^|]+?) \|", line)
        if row:
            tables[-1][row[1]] = row[2]
        elif line.startswith("| field "):
            tables.append({})
    return [table for table in tables if table]


def _page() -> tuple[dict[str, list[Fields]], Fields]:
    """For each command its tables, one for each document that it may print; and the table of errors."""
    head, *sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert _tables(head) == []
    by_title = {section.partition("\n")[0]: section for section in sections}
    shapes = {
        part.partition("\n")[0]: _tables(part)[0]
        for part in by_title.pop("Shapes that several commands share").split("\n### ")[1:]
    }
    errors = _tables(by_title.pop("Errors"))[0]
    commands = {
        name: [_expanded(table, shapes) for table in _tables(section)]
        for title, section in by_title.items()
        for name in re.findall("`([^`]+)`", title)
    }
    return commands, errors


def _expanded(table: Fields, shapes: dict[str, Fields]) -> Fields:
    """With the fields of the shapes that it names."""
    whole: Fields = {}
    for path, type_ in table.items():
        shape = re.match(r"\[(\w+)\]\(#\1\)(.*)", type_)
        whole[path] = f"object{shape[2]}" if shape else type_
        if shape:
            inner = _expanded(shapes[shape[1]], shapes)
            whole |= {f"{path}.{name}": kind for name, kind in inner.items()}
    # The objects of a list need no row of their own.
    for path in list(whole):
        if "[]." in path:
            whole.setdefault(path.rpartition("[].")[0] + "[]", "object")
    return whole


# -- what is printed -------------------------------------------------------------------------------


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner, f"{path}[]")


def _is(value: Any, type_: str) -> bool:
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "list": (list,),
        "object": (dict,), "null": (type(None),),
    }  # fmt: skip
    allowed = type_.split(" or ")
    if isinstance(value, bool):
        return "boolean" in allowed
    return any(isinstance(value, kinds[one]) for one in allowed)


def _compare(document: Any, table: Fields) -> set[str]:
    """The fields that were seen; raises for one that the page does not have so."""
    opaque = tuple(path for path, type_ in table.items() if type_ == "any")
    seen = set()
    for path, value in _flat(document):
        if any(path.startswith((f"{one}.", f"{one}[]")) for one in opaque):
            continue
        assert path in table, f"{path} is not in the page"
        seen.add(path)
        type_ = table[path]
        assert path in opaque or _is(value, type_), f"{path} is {value!r}, and the page says {type_}"
    return seen


def _best(document: dict[str, Any], tables: list[Fields]) -> int:
    """Which of the tables of a command is about this document."""
    return max(range(len(tables)), key=lambda number: len(document.keys() & tables[number].keys()))


def _command_names(group: click.Group, before: str = "") -> Iterator[str]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from _command_names(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_every_command_is_in_the_page() -> None:
    assert {*_command_names(root)} == _page()[0].keys() - {"timing"}


def test_an_error_is_as_the_page_says(tenure: Run) -> None:
    _, errors = _page()
    for words in (["show", "jobs:app", "nobody", "--json"], ["show", "--json"]):
        assert _compare(msgspec.json.decode(tenure(*words).stderr), errors) == errors.keys()


@pytest.mark.scenario
def test_what_commands_print_is_what_the_page_says(tenure: Run, folder: Path) -> None:
    (folder / "jobs.py").write_text(JOBS + MORE)
    (folder / "loop.py").write_text(EXAMPLE)
    commands, _ = _page()
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)

    def look(command: str, *words: str, code: int = 0) -> Any:
        result = tenure(*command.split(), *words, "--json")
        assert result.exit_code == code, result.stderr
        return told(command, result.stdout)

    def told(command: str, printed: str) -> Any:
        document = msgspec.json.decode(printed)
        which = _best(document, commands[command])
        seen[command, which] |= _compare(document, commands[command][which])
        return document

    app = "jobs:app"
    ids = [look("submit", app, "resize", f'{{"image": "{image}"}}')["id"] for image in ("a", "broken", "broken")]
    ids.append(look("submit", app, "flaky")["id"])
    worked(*ids)
    result = tenure("submit", app, "resize", '{"image": "a"}', "--id", ids[0], "--wait", "--json")
    told("submit", result.stdout)
    look("submit", app, "nap", '{"seconds": 1}', "--delay", "1h", "--id", "delayed")
    look("submit", app, "nap", '{"seconds": 1}', "--queue", "other", "--yes", "--id", "waiting")
    running = look("submit", app, "report")["id"]
    with started("worker", app, "--queue", "long") as worker:
        while not look("workers", app)["workers"] or not look("show", app, running)["progress"]:
            pass
        look("pause", app, "other")
        for state in ([], ["--state", "completed"]):
            look("messages", app, *state)
        for id in (*ids, running, "waiting"):
            look("show", app, id)
            look("dead show", app, id)
        look("queues", app)
        look("schedules", app)
        look("resume", app, "other")
        worker.process.kill()
        worker.ends()
    look("workers", app)
    look("schedules", app, "--forget", "hourly")
    look("timing", app)
    look("timing list", app)
    look("timing explain", app, "resize")
    look("timing profiles")
    look("scaling", app)
    look("simulate", "--durations", "fixed:5", "-n", "20", "--policy", "heartbeat:30")
    look("dead list", app)
    look("dead redrive", app, "--all", "--dry-run")
    look("dead redrive", app, ids[1])
    look("dead delete", app, "--all", "--dry-run")
    look("dead delete", app, ids[2])
    for command in ("show", "dead show"):
        look(command, app, ids[2])
    look("cancel", app, "delayed")
    look("purge", app, "other", "--yes")
    look("sweep", app)
    look("audit", "loop.py", code=1)
    look("completion", "bash")
    look("demo", "--for", "1s", "--rate", "10")
    for more in ([], ["--processes", "1"]):
        with started("worker", app, "--queue", "other", "--until-empty", "--json", *more) as worker:
            told("worker", worker.output())

    for command, tables in commands.items():
        for number, table in enumerate(tables):
            assert _missing(table, seen[command, number]) == UNSEEN.get(command, set()), command


def _missing(table: Fields, seen: set[str]) -> set[str]:
    """Fields of the page that were not printed, but for those of an object that was null every time."""
    was_null = {
        path
        for path, type_ in table.items()
        if type_ == "object or null" and not any(one.startswith(f"{path}.") for one in seen)
    }
    inside = tuple(f"{path}." for path in was_null)
    return {path for path in table.keys() - seen if table[path] != "any" and not path.startswith(inside)}
