"""`tenure submit`: send one message.

With an app the payload is checked against the handler's own types; with a URL there is nothing to check it
against, so it is sent as it is. `waiting.py` waits for the result.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.commands.submit.waiting import Waited, say_failure, wait
from tenure.cli.completing import complete_queue, complete_words
from tenure.cli.failing import BadTarget, Interruption
from tenure.cli.json_argument import json_bytes
from tenure.cli.target import find, is_place, json_option, meant, run, split
from tenure.cli.terminal.duration import DURATION
from tenure.cli.terminal.moment import DURATION_OR_MOMENT, MOMENT
from tenure.cli.terminal.output import say_json, say_line, say_lines
from tenure.cli.terminal.plain import plain_json
from tenure.client.operations.naming import check_known, full_name
from tenure.errors import BadArgument, StoreMissing, TaskFailed
from tenure.tasks.build_message import destination
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Handle
from tenure.tasks.task_address import TaskAddress

#: --wait without a number.
_FOREVER = "forever"


class _Wait(click.Command):
    """Lets `--wait` be used without a number: a following word that is not a duration is an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out what a bare `--wait` means."""
        told = list(args)
        for place, word in enumerate(args[: args.index("--")] if "--" in args else args):
            after = args[place + 1] if place + 1 < len(args) else ""
            if word == "--wait" and not _is_duration(after):
                told[place] = f"--wait={_FOREVER}"
        return super().parse_args(ctx, told)


def _is_duration(word: str) -> bool:
    try:
        DURATION.convert(word, None, None)
    except click.UsageError:
        return False
    return True


def _wait_seconds(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """None: do not wait. Infinite: as long as it takes."""
    return None if value is None else float("inf") if value == _FOREVER else DURATION.convert(value, None, None)


def _headers(_ctx: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> dict[str, str] | None:
    pairs = [value.partition("=") for value in values]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise click.BadParameter("write NAME=VALUE")
    return {name: value for name, _, value in pairs} or None


@click.command(short_help="Send one message for a task.", cls=_Wait)
@click.argument("words", nargs=-1, metavar="[TARGET] TASK [PAYLOAD]", shell_complete=complete_words(tasks=True, most=1))
@click.option("--priority", type=int, help="0 to 9; the highest is leased first. Default: 5.")
@click.option("--delay", type=DURATION, help="Run it after this time, as in 30s, 5m, 2h.")
@click.option("--at", type=MOMENT, help="Not before this moment: ISO 8601 with its offset, 2030-01-31T09:00+01:00.")
@click.option("--expires", type=DURATION_OR_MOMENT, help="Dead letter if it has not begun by then: 10m, or a moment.")
@click.option("--key", help="Work with this key is done once.")
@click.option("--unique", metavar="WORD", help="If a message with this value is already waiting, send no second one.")
@click.option(
    "--unique-payload", is_flag=True, help="If a message with this payload is already waiting, send no second one."
)
@click.option("--unique-window", type=DURATION, help="With --unique: only messages sent within this time count.")
@click.option("--lease", type=DURATION, help="The lease for this message.")
@click.option("--max-hold", type=DURATION, help="End the handler after this time.")
@click.option("--max-attempts", type=int, help="Failed attempts before the dead letters.")
@click.option("--id", help="The message's own id: a repeated submit with it makes no second message.")
@click.option("--header", "headers", multiple=True, callback=_headers, metavar="NAME=VALUE", help="May be repeated.")
@click.option("--correlation-id", help="What it belongs to; handed on to the messages that its handler sends.")
@click.option("--webhook", metavar="NAME|URL", help="Tell this webhook endpoint when the message ends.")
@click.option(
    "--queue",
    shell_complete=complete_queue,
    help="Where to send it. Default: the task's queue; with a URL, the client's.",
)
@click.option("--client", metavar="NAME", help="For whom it is. A task without a queue of its own goes to NAME-tasks.")
@click.option("--create", is_flag=True, help="With a URL: create the store if it does not exist.")
@click.option("--yes", "-y", is_flag=True, help="With an app: allow a queue that no task or worker has yet.")
@click.option(
    "--wait",
    "wait_for",
    metavar="[DURATION]",
    callback=_wait_seconds,
    help="Wait at most this long for the result, and print it.",
)
@json_option
def submit(
    words: tuple[str, ...],
    queue: str | None,
    wait_for: float | None,
    *,
    create: bool,
    yes: bool,
    unique_payload: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Send one message for TASK.

    PAYLOAD is a JSON object with the handler's parameters, {} if it is left out; - reads it from standard input.
    The first word is TARGET if it has a colon. Prints the message's id; with --wait, the result (the id goes to
    standard error), and exits with 1 if the task failed or the time is over. The message goes on in any case.

    \b
    tenure submit jobs:app resize '{"image": "a.png"}' --priority 9
    tenure submit jobs:app resize '{"image": "a.png"}' --wait 30s
    tenure submit sqlite:///jobs.db resize - < payload.json
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, rest = split(words)
    if not 1 <= len(rest) <= 2:  # noqa: PLR2004 - TASK, or TASK and PAYLOAD
        _explain_words(words, rest)
    if unique_payload:
        if options["unique"] is not None:
            raise click.UsageError("give --unique or --unique-payload, not both")
        options["unique"] = True
    app = find(target, must_exist=not create)
    hint = meant(words[0]) if target is None else ""
    body = json_bytes(rest[1] if len(rest) > 1 else "{}", _example(app, rest[0]), hint)
    call = _call(app, rest[0], body, queue, has_code=not is_place(target))
    given = {name: value for name, value in options.items() if value is not None}
    try:
        waited = _run(
            app,
            call,
            Options(**given),  # type: ignore[typeddict-item]
            wait_for,
            target=target,
            checks=not (yes or is_place(target)),
            quiet=as_json,
        )
    except StoreMissing as error:
        if is_place(target) and not create:
            error.add_note("--create makes it")
        raise
    _say(waited, as_json=as_json)


def _run(
    app: Tenure,
    call: Call[Any],
    options: Options,
    wait_for: float | None,
    *,
    target: str | None,
    checks: bool,
    quiet: bool,
) -> Waited:
    async def work(app: Tenure) -> Waited:
        queue = destination(call, options)
        # A new client is no mistake: its queue is made by its first message.
        if checks and "client" not in options and queue not in {task.queue for task in app.tasks.values()}:
            consequence = "Nothing was sent; add --yes to send it anyway"
            await check_known(app.operate.access, [queue], consequence=consequence)
        handle: Handle[Any] = await app._submit_call(call, options)
        if wait_for is None:
            return Waited(handle.id, handle.duplicate)
        sent.append(Waited(handle.id, handle.duplicate))
        return await wait(app, handle, wait_for, target=target, quiet=quiet)

    sent: list[Waited] = []
    try:
        return run(app, work)
    except BaseException as error:
        # The message is sent: whatever became of the waiting, a program needs its id to ask again.
        if quiet:
            for waited in sent:
                _say(waited, as_json=True)
            if sent and isinstance(error, KeyboardInterrupt):
                raise Interruption("stopped waiting; the message goes on", "interrupted_wait") from None
        elif isinstance(error, TaskFailed):
            say_failure(error)
        raise


def _say(waited: Waited, *, as_json: bool) -> None:
    if as_json:
        document: dict[str, object] = {"id": waited.id, "duplicate": waited.duplicate}
        say_json(document if waited.result is None else document | {"result": msgspec.Raw(waited.result)})
        return
    if waited.result is not None:
        say_lines(plain_json(waited.result).decode())
        return
    say_line(waited.id)
    if waited.duplicate:
        say_line("It was sent before with the same id, key or unique value; nothing new was stored.", err=True)


def _explain_words(words: tuple[str, ...], rest: list[str]) -> None:
    if not words:
        raise BadTarget('name a target and a task: tenure submit jobs:app resize \'{"image": "a.png"}\'')
    if not rest:
        raise BadArgument(f"name the task to send to {words[0]}; nothing was sent")
    if ":" not in words[0]:
        raise BadTarget(f"{words[0]!r} is not a target: it has no colon; did you mean {words[0]}:app? Nothing was sent")
    msg = f"after TARGET come TASK and one PAYLOAD, not {len(rest)} words (is the JSON quoted?); nothing was sent"
    raise BadArgument(msg)


def _example(app: Tenure, name: str) -> str:
    """Return an example of a payload for this task."""
    task = app.tasks.get(name)
    if task is None:
        return '\'{"image": "a.png"}\''
    names = list(inspect.signature(task.function).parameters)[1 if task.signature.wants_context else 0 :]
    return "'{" + ", ".join(f'"{name}": …' for name in names) + "}'"


def _call(app: Tenure, name: str, body: bytes, queue: str | None, *, has_code: bool) -> Call[Any]:
    where = None if queue is None else full_name(app.operate.access, queue)
    if not has_code:
        return Call(TaskAddress(name, where or app.queue, app.settings.webhook, where is None), msgspec.Raw(body))
    task = app.find(name)
    given = msgspec.json.decode(body)
    if isinstance(given, dict):
        task.signature.payload(given)  # also names unknown fields; bytes alone may come from a newer sender
    checked = task.signature.payload(msgspec.Raw(body))
    follows = where is None and task.follows_client
    return Call(TaskAddress(task.name, where or task.queue, task.webhook, follows), checked)
