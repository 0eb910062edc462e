"""`tenure webhooks endpoints add`, `rotate`, `disable`, `enable`, `remove` and `test`.

A secret goes to standard output alone, so that a script can keep it; everything else goes to standard error then.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.duration import DURATION, spoken
from tenure.cli.terminal.output import say_json, say_line
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user

T = TypeVar("T")
_WORDS = click.argument("words", nargs=-1, metavar="[TARGET] NAME")
_SECRET = click.option(
    "--secret",
    metavar="SECRET",
    help="whsec_…, or where it is: env:NAME or file:/path. Default: a new one, printed once.",
)
_DAY = 86_400.0


@click.command(short_help="Register a receiver; its secret is printed once.")
@click.argument("words", nargs=-1, metavar="[TARGET] NAME URL")
@_SECRET
@click.option("--client", "clients", multiple=True, help="Only this client may name it; acme-* is a pattern.")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(["completed", "dead", "cancelled"]),
    help="Only these endings; repeat it for more. Default: all.",
)
@click.option("--host", "hosts", multiple=True, help="A message may also name any URL of this host.")
@json_option
def add(
    words: tuple[str, ...],
    secret: str | None,
    clients: tuple[str, ...],
    events: tuple[str, ...],
    hosts: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Register a receiver of webhooks under NAME. Its secret is printed once, to standard output.

    Secrets are kept encrypted under TENURE_SECRET_KEY, which every worker needs to sign; env:NAME and file:/path keep
    them elsewhere. Only public addresses are called; TENURE_WEBHOOK_ALLOW lists exceptions.

    \b
    tenure webhooks endpoints add jobs:app orders https://a.example.com/notify
    tenure webhooks endpoints add jobs:app acme https://b.example.com/hook
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, (name, url) = _words(words, 2, "NAME URL")
    given = {"events": events} if events else {}
    made = run(
        find(target),
        lambda app: _mine(app.operate).add_endpoint(name, url, secret=secret, clients=clients, hosts=hosts, **given),
    )
    if as_json:
        say_json(made)
        return
    say_line(f"Endpoint {made.endpoint.name} → {made.endpoint.url}", err=made.secret is not None)
    if made.secret is not None:
        say_line("Its secret, shown only now:", err=True)
        say_line(made.secret)


@click.command(short_help="Give an endpoint a new secret; both sign for a day.")
@_WORDS
@_SECRET
@click.option(
    "--overlap", type=DURATION, default=_DAY, help="The old one signs too for so long; 0: not at all. Default: 1d."
)
@json_option
def rotate(words: tuple[str, ...], secret: str | None, overlap: float, *, as_json: bool) -> None:
    """Give an endpoint a new secret. For a day the old one signs too, so that the receiver can follow in its time."""
    target, (name,) = _words(words, 1, "NAME")
    made = run(
        find(target), lambda app: _mine(app.operate).rotate_endpoint(name, secret=secret, overlap_seconds=overlap)
    )
    if as_json:
        say_json(made)
        return
    until = f"the old secret signs too for {spoken(overlap)}" if overlap else "the old secret is void"
    say_line(f"Endpoint {name} has a new secret; {until}", err=made.secret is not None)
    if made.secret is not None:
        say_line(made.secret)


@click.command(short_help="Send an endpoint nothing more; its endings wait.")
@_WORDS
@click.option("--reason", default="disabled by an operator", help="Why; shown beside the endpoint.")
@json_option
def disable(words: tuple[str, ...], reason: str, *, as_json: bool) -> None:
    """Send an endpoint nothing more. Endings that ask for it wait until it is enabled, for as long as that takes."""
    done = _act(words, lambda operate, name: operate.disable_endpoint(name, reason))
    _say(done, as_json, f"{done.name}: {'disabled; its endings wait' if done.changed else 'it was disabled before'}")


@click.command(short_help="Let an endpoint's endings go out again.")
@_WORDS
@json_option
def enable(words: tuple[str, ...], *, as_json: bool) -> None:
    """Let the endings of an endpoint go out again, those that waited first."""
    done = _act(words, lambda operate, name: operate.enable_endpoint(name))
    _say(done, as_json, f"{done.name}: {'enabled; what waited goes out' if done.changed else 'it was not disabled'}")


@click.command(short_help="Remove an endpoint; its endings become dead letters.")
@_WORDS
@json_option
def remove(words: tuple[str, ...], *, as_json: bool) -> None:
    """Remove an endpoint. Endings that ask for it become dead letters, to be replayed once it is there again."""
    done = _act(words, lambda operate, name: operate.remove_endpoint(name))
    _say(done, as_json, f"{done.name}: removed")


@click.command(short_help="Post a signed test request from here.")
@_WORDS
@json_option
def test(words: tuple[str, ...], *, as_json: bool) -> None:
    """Post a signed test request to an endpoint from this machine, and show how it answered.

    Its body has the status "test". Exits with 1 if the answer was not 2xx.
    """
    done = _act(words, lambda operate, name: operate.test_endpoint(name))
    answer = "no answer" if done.status is None else f"HTTP {done.status}"
    text = f": {done.text}" if done.text else ""
    _say(done, as_json, f"{done.name}: {answer} after {done.seconds:.3f} s{text}")
    if not done.ok:
        sys.exit(1)


def _act(words: tuple[str, ...], act: Callable[[Operate, str], Awaitable[T]]) -> T:
    target, (name,) = _words(words, 1, "NAME")
    return run(find(target), lambda app: act(_mine(app.operate), name))


def _words(words: tuple[str, ...], count: int, names: str) -> tuple[str | None, list[str]]:
    target, rest = split(words)
    if len(rest) != count:
        verb = click.get_current_context().command_path
        raise click.UsageError(f"{verb} {f'{target} ' if target else '[TARGET] '}{names}")
    return target, list(rest)


def _mine(operate: Operate) -> Operate:
    return operate.bound(by=this_user(), triggered_by="cli")


def _say(done: object, as_json: bool, text: str) -> None:  # noqa: FBT001 - of each command here
    if as_json:
        say_json(done)
    else:
        say_line(text)
