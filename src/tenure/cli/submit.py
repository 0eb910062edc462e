"""`tenure submit`: send one message.

With an app the payload is checked against the handler's own types; with a URL there is nothing to check it
against, so it is sent as it is.
"""

import sys
from typing import Any

import click
import msgspec

from tenure.app import Tenure
from tenure.call import Call, Options
from tenure.cli.duration import DURATION
from tenure.cli.failing import BadTarget
from tenure.cli.output import say_json
from tenure.cli.target import find, is_place, json_option, run, split
from tenure.errors import BadArgument, PayloadInvalid
from tenure.handle import Handle


class _Address(msgspec.Struct, frozen=True):
    """A task by name, whose code need not be here."""

    name: str
    queue: str


@click.command(short_help="Send one message for a task.")
@click.argument("words", nargs=-1, metavar="[TARGET] TASK [PAYLOAD]")
@click.option("--priority", type=int, help="0 to 9; the highest is lent first. Default: 5.")
@click.option("--delay", type=DURATION, help="Not before so long from now, as in 30s, 5m, 2h.")
@click.option("--key", help="Once done under this key, not done again.")
@click.option("--lease", type=DURATION, help="The lease for this message.")
@click.option("--max-attempts", type=int, help="Failed attempts before the dead letters.")
@click.option("--id", help="The message's own id: a repeated submit with it makes no second message.")
@click.option("--queue", help="Where to send it. Default: the task's queue; with a URL, the client's.")
@json_option
def submit(words: tuple[str, ...], queue: str | None, *, as_json: bool, **options: Any) -> None:
    """Send one message for TASK.

    PAYLOAD is a JSON object with the handler's parameters, {} if it is left out; - reads it from standard input.
    The first word is TARGET if it has a colon. Prints the message's id.

    \b
    tenure submit jobs:app resize '{"image": "a.png"}' --priority 9
    tenure submit sqlite:///jobs.db resize - < payload.json
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, rest = split(words)
    if not 1 <= len(rest) <= 2:  # noqa: PLR2004 - TASK, or TASK and PAYLOAD
        _explain_words(words, rest)
    app = find(target, must_exist=False)
    body = _body(rest[1] if len(rest) > 1 else "{}")
    call = _call(app, rest[0], body, queue, has_code=not is_place(target))
    given = {name: value for name, value in options.items() if value is not None}
    handle = run(app, lambda app: app.submit_call(call, Options(**given)))  # type: ignore[typeddict-item]
    _say(handle, as_json=as_json)


def _say(handle: Handle[Any], *, as_json: bool) -> None:
    if as_json:
        say_json({"id": handle.id, "duplicate": handle.duplicate})
        return
    click.echo(handle.id)
    if handle.duplicate:
        click.echo("It was sent before, by the same id or key: nothing new was stored.", err=True)


def _explain_words(words: tuple[str, ...], rest: list[str]) -> None:
    if not words:
        raise BadTarget('name a target and a task: tenure submit jobs:app resize \'{"image": "a.png"}\'')
    if not rest:
        raise BadArgument(f"name the task to send to {words[0]}; nothing was sent")
    msg = f"after TARGET come TASK and one PAYLOAD, not {len(rest)} words (is the JSON quoted?); nothing was sent"
    raise BadArgument(msg)


def _body(text: str) -> bytes:
    """The payload as JSON bytes; it is embedded in the envelope as it is, so it has to be JSON."""
    raw = sys.stdin.buffer.read() if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PayloadInvalid(f"the payload is not JSON: {error}; nothing was sent") from error
    return raw


def _call(app: Tenure, name: str, body: bytes, queue: str | None, *, has_code: bool) -> Call[Any]:
    if not has_code:
        return Call(_Address(name, queue or app.queue), msgspec.Raw(body))
    task = app.find(name)
    checked = task.signature.payload(msgspec.Raw(body))
    return Call(_Address(task.name, queue or task.queue), checked)
