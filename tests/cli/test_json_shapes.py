"""docs/reference/json.md and what the commands really print are the same, field by field and in both directions."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import tenure as package
from tenure import Tenure
from tenure.cli.loading import load
from tenure.cli.root import root
from tenure.client.finding_store import FindingStore
from tenure.consumer_report import REPORT_KIND, ConsumerActivity, ConsumerReport, encoded
from tenure.lease import LeaseRequest
from tenure.monitoring.alerting.finding import AlertState, Evaluator
from tenure.monitoring.catalogue import AlertSeverity

from .conftest import JOBS, Run, there, worked
from .process import started

APP = "jobs:app"
PAGE = Path(package.__file__).parents[2] / "docs" / "reference" / "json.md"

#: Fields that need what this test has not: an overdue lease, an act at the same moment, another kind of store.
UNSEEN = {
    "show": {"life[].noticed_at", "life[].cause"},
    "trace": {"life[].noticed_at", "life[].cause"},
    "dead show": {"life[].noticed_at", "life[].cause"},
    "messages": {"hidden[]"},
    "dead redrive": {"not_dead_any_more[]"},
    "dead delete": {"not_dead_any_more[]"},
    "sweep": {"returned[]", "dead[]", "adopted[]"},
    "migrate store": {"unfinished.workers[]", "left_behind[]"},
}
EXAMPLE = """
import boto3

sqs = boto3.client("sqs")
for message in sqs.receive_message(QueueUrl="q", VisibilityTimeout=30)["Messages"]:
    sqs.delete_message(QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
    work(message)
"""
CELERY = """
from celery import Celery, chord

app = Celery("shop", broker="redis://localhost")
app.conf.beat_schedule = {"tidy": {"task": "shop.tidy", "schedule": 60}}

@app.task
def tidy():
    chord([tidy.s()])(tidy.s())

def view():
    tidy.delay()
"""
MORE = """
app.schedule(resize.bind("x"), every=3600, name="hourly")
app.schedule(resize.bind("y"), every=7200, name="two-hourly")


@app.task(queue="long")
async def report(ctx: Context) -> None:
    ctx.progress(0.5, "half")
    await asyncio.gather(asyncio.sleep(120))
"""

_SECRET = "whsec_" + "A" * 43 + "="

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
    # What documents print is in the page of their package, which nothing of Tenure imports.
    own = {name for name in _command_names(root) if not name.startswith("documents ")}
    assert own == _page()[0].keys() - {"timing", "workers", "schedules"}


def test_an_error_is_as_the_page_says(tenure: Run) -> None:
    _, errors = _page()
    for words in (["show", "jobs:app", "nobody", "--json"], ["show", "--json"]):
        assert _compare(msgspec.json.decode(tenure(*words).stderr), errors) == errors.keys()


class _Looks:
    """Runs commands, and compares what they print with the page."""

    def __init__(self, tenure: Run) -> None:
        self._tenure = tenure
        self.commands, _ = _page()
        #: By command, and by number of its table.
        self.seen: dict[tuple[str, int], set[str]] = defaultdict(set)

    def __call__(self, command: str, *words: str, code: int = 0) -> Any:
        result = self._tenure(*command.split(), *words, "--json")
        assert result.exit_code == code, result.stderr
        return self.told(command, result.stdout)

    def told(self, command: str, printed: str) -> Any:
        document = msgspec.json.decode(printed)
        which = _best(document, self.commands[command])
        self.seen[command, which] |= _compare(document, self.commands[command][which])
        return document


def _look_while_a_worker_runs(look: _Looks, ids: list[str]) -> None:
    look("submit", APP, "nap", '{"seconds": 1}', "--delay", "1h", "--id", "delayed")
    look("submit", APP, "nap", '{"seconds": 1}', "--queue", "other", "--yes", "--id", "waiting")
    running = look("submit", APP, "report")["id"]
    with started("worker", APP, "--queue", "long") as worker:
        while not look("workers", APP)["workers"] or not look("show", APP, running)["progress"]:
            pass
        look("stack", APP, running)
        look("touch", APP, running, "--seconds", "60")
        look("pause", APP, "other")
        look("limit", APP, "other", "--rate", "1/h")
        look("client quota", APP, "default", "--waiting", "9", "--running", "9")
        look("client weight", APP, "default", "--set", "3")
        look("client pause", APP, "default")
        look("clients", APP)
        look("client show", APP, "default")
        look("client resume", APP, "default")
        look("client purge", APP, "default", "--dry-run")
        look("client forget", APP, "default", "--dry-run")
        look("top", APP)
        look("acts", APP)
        look("events", APP, "--all", "-n", "1")
        for words in (["messages"], ["messages", "--state", "completed"], ["queues"], ["schedules"]):
            look(words[0], APP, *words[1:])
        for id in (*ids, running, "waiting"):
            look("show", APP, id)
            look("trace", APP, id)
            look("dead show", APP, id)
        look("resume", APP, "other")
        look("submit", APP, "nap", '{"seconds": 1}', "--queue", "http", "--yes", "--id", "over-http")
        there(_lease_over_http)
        look("workers", APP)
        look("workers list", APP)
        for act in ("drain", "stop"):
            look(f"workers {act}", APP, look("workers list", APP)["workers"][0]["id"])
        worker.process.kill()
        worker.ends()


def _look_at_groups(look: _Looks) -> None:
    """One member failed, the other one waits."""
    asyncio.run(_submit_group())
    for name in ("show", "trace", "dead show"):
        look(name, APP, "grp_album-0")
        look(name, APP, "grp_album")
    look("cancel", APP, "grp_album", "--yes")


async def _submit_group() -> None:
    app = load("jobs:app")
    resize = app.tasks["resize"]
    async with app:
        calls = [resize.bind("broken"), resize.bind("a").having(delay=3600)]
        group = await app.group(calls, then=resize.bind("b"), id="album")
        async with app.worker(name="grouping", queues=["default-tasks"]):
            while not (await group.status()).dead:  # noqa: ASYNC110 - the store has no signal for it
                await asyncio.sleep(0.05)


def _look_at_findings(look: _Looks) -> None:
    """As the evaluator keeps one: waiting for it would take two minutes."""
    asyncio.run(_keep_finding())
    look("findings silence", APP, "duplicates@other")
    look("findings ack", APP, "duplicates@other")
    look("findings list", APP)
    look("findings rules")
    look("monitoring render", "grafana", "--out", "monitoring")
    look("monitoring render", "grafana")


async def _keep_finding() -> None:
    async with package.Tenure("sqlite:///jobs.db") as app:
        now = app.state.wall()
        state = AlertState(
            alert="duplicates", subject="other", queue="other", severity=AlertSeverity.SHOW, fired_at=now, seen_at=now,
            evidence="1 of 3", task="resize", message_id="m1",
        )  # fmt: skip
        store = FindingStore(app.state)
        await store.put(state, None)
        await store.put(msgspec.structs.replace(state, subject="gone", severity=None, cleared_at=now), None)
        await store.note_evaluator(Evaluator(at=now, since=now, by="me"))


async def _lease_over_http(app: Tenure) -> None:
    """As a server does for a consumer, and what it reports of it."""
    owner = "http:0123456789ab/shop-1"
    assert await app.broker.lease(LeaseRequest(owner, "r", ("http",), 1, 600.0))
    at = app.state.wall()
    report = ConsumerReport(at=at, consumers=(ConsumerActivity(id=owner, queues=("http",), heard_at=at),))
    await app.state.key_values.put(REPORT_KIND, "s1", encoded(report), expect=None)


def _look_at_webhooks(look: _Looks) -> None:
    """Nothing listens at that address, so one delivery waits for its next attempt and another one is given up."""
    who = ("--client", "default", "--host", "127.0.0.1", "--secret", "env:HOOK")
    look("webhooks endpoints add", APP, "orders", "http://127.0.0.1:9/notify", *who)
    look("webhooks endpoints rotate", APP, "orders", "--secret", "env:OTHER")
    look("webhooks endpoints test", APP, "orders", code=1)
    look("submit", APP, "resize", '{"image": "a"}', "--webhook", "orders", "--queue", "hooked", "--yes", "--id", "told")
    look("submit", APP, "resize", '{"image": "a"}', "--webhook", "orders", "--queue", "hooked", "--yes", "--id", "lost")
    look("cancel", APP, "told")
    with started("worker", APP, "--queue", "unserved") as worker:
        while not look("webhooks deliveries", APP)["deliveries"]:
            pass
        worker.process.kill()
        worker.ends()
    look("webhooks endpoints disable", APP, "orders", "--reason", "moves")
    look("webhooks endpoints list", APP)
    look("webhooks endpoints enable", APP, "orders")
    look("webhooks endpoints remove", APP, "orders")
    look("cancel", APP, "lost")
    with started("worker", APP, "--queue", "unserved") as worker:
        while not look("webhooks deliveries", APP, "--failed")["deliveries"]:
            pass
        worker.process.kill()
        worker.ends()
    look("webhooks replay", APP, "--since", "2026-01-01T00:00Z", "--dry-run")


#: `{0}` is a dead letter, `{1}` another one.
_AFTERWARDS = """
workers jobs:app
workers list jobs:app
schedules list jobs:app
schedules run jobs:app hourly
schedules pause jobs:app hourly
schedules resume jobs:app hourly
schedules jobs:app --forget hourly
schedules list jobs:app --forget two-hourly
timing jobs:app
timing list jobs:app
timing explain jobs:app resize
timing profiles
scaling jobs:app
simulate --durations fixed:5 -n 20 --policy heartbeat:30
dead list jobs:app
dead groups jobs:app
dead edit jobs:app {1} --priority 7 --dry-run
dead move jobs:app {1} slow --dry-run
dead redrive jobs:app --all --dry-run
dead redrive jobs:app {0}
dead delete jobs:app --all --dry-run
dead delete jobs:app {1}
show jobs:app {1}
trace jobs:app {1}
dead show jobs:app {1}
run-now jobs:app delayed
cancel jobs:app delayed
purge jobs:app other --yes
sweep jobs:app
completion bash
demo --for 1s --rate 10
acts jobs:app
messages jobs:app -n 1
"""


@pytest.mark.scenario
def test_what_commands_print_is_what_the_page_says(tenure: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HOOK", _SECRET), ("OTHER", _SECRET), ("TENURE_WEBHOOK_ALLOW", "127.0.0.1:9")):
        monkeypatch.setenv(name, value)
    (folder / "jobs.py").write_text(JOBS + MORE)
    (folder / "loop.py").write_text(EXAMPLE)
    look = _Looks(tenure)
    ids = [look("submit", APP, "resize", f'{{"image": "{image}"}}')["id"] for image in ("a", "broken", "broken")]
    ids.append(look("submit", APP, "flaky")["id"])
    worked(*ids)
    look("submit", APP, "resize", '{"image": "a"}', "--id", ids[0], "--wait")
    _look_while_a_worker_runs(look, ids)
    for line in _AFTERWARDS.strip().format(*ids[1:3]).splitlines():
        words = line.split()
        is_two = words[0] == "dead" or " ".join(words[:2]) in look.commands
        look(" ".join(words[: 1 + is_two]), *words[1 + is_two :])
    look("audit", "loop.py", code=1)
    (folder / "shop.py").write_text(CELERY)
    look("migrate celery", "shop.py", "--dry-run")
    look("health", APP, code=1)
    look("doctor", APP, code=1)
    look("settings", APP)
    look("migrate store", APP)
    _look_at_webhooks(look)
    _look_at_groups(look)
    _look_at_findings(look)
    made = look("token create", APP, "ci", "--scope", "read")
    look("token list", APP)
    look("token revoke", APP, made["id"])
    look("token rotate-secret", APP)
    with started("serve", APP, "--port", "0", "--json") as server:
        assert server.process.stdout is not None
        look.told("serve", server.process.stdout.readline())
    for more in ([], ["--processes", "1"]):
        with started("worker", APP, "--queue", "other", "--until-empty", "--json", *more) as worker:
            look.told("worker", worker.output())
    for command, tables in look.commands.items():
        for number, table in enumerate(tables):
            assert _missing(table, look.seen[command, number]) == UNSEEN.get(command, set()) & table.keys(), command


def _missing(table: Fields, seen: set[str]) -> set[str]:
    """Fields of the page that were not printed, but for those of an object that was null every time."""
    was_null = {
        path
        for path, type_ in table.items()
        if type_ == "object or null" and not any(one.startswith(f"{path}.") for one in seen)
    }
    inside = tuple(f"{path}." for path in was_null)
    return {path for path in table.keys() - seen if table[path] != "any" and not path.startswith(inside)}
