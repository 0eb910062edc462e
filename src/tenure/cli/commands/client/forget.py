"""`tenure client forget`: removes what is kept of a client, and says what it cannot reach."""

from collections import Counter

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.acting import Interrupted, Meter, stoppable
from tenure.cli.asking import announce, ask, dry_run_option, yes_option
from tenure.cli.commands.client.words import WORDS, one_client
from tenure.cli.target import find, json_option, run
from tenure.cli.terminal.output import count, say_json, say_line
from tenure.client.operations.forget import ForgetResult
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user

#: Between two looks whether Ctrl-C was pressed.
_SECONDS = 1.0


@click.command(short_help="Remove what is kept of a client.")
@WORDS
@dry_run_option
@yes_option
@json_option
def forget(words: tuple[str, ...], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove payloads, results, checkpoints, bodies, dead letters, keys and journal entries of a client.

    What runs is cancelled, and its queue is paused meanwhile. Interrupted, run it again: it does what is left. It
    prints what it cannot reach. One act without content stays in the audit log. Always asks first; without a terminal
    it needs --yes.
    """
    target, name = one_client(words)
    app = find(target)
    looked = run(app, lambda app: _mine(app).forget_client(name, dry_run=True))
    kinds = ", ".join(f"{count(number)} {state}" for state, number in looked.found.items())
    if not as_json or not (yes or dry_run):
        announce(
            f"{'Would' if dry_run else 'Will'} forget client {name}: {kinds}, and all that has ended", as_json=as_json
        )
    if dry_run:
        if as_json:
            say_json(looked)
        else:
            _say_out_of_reach(looked)
        return
    if not yes:
        ask(
            f"Forget {name}?",
            would=f"client {name} would be forgotten",
            warning="Payloads, results and records are gone for good. What runs is cancelled.",
        )
    done = run(app, lambda app: _forget(app, name, quiet=as_json))
    if as_json:
        say_json(done)
        return
    removed = ", ".join(f"{kind} {number:,}" for kind, number in done.removed.items())
    say_line(f"Forgot {name}: {removed or 'nothing was left'}")
    _say_out_of_reach(done)


async def _forget(app: Tenure, name: str, *, quiet: bool) -> ForgetResult:
    operate = _mine(app)
    meter, removed = Meter("removed", None, quiet=quiet), Counter[str]()
    after, out_of_reach = "", dict[str, None]()
    with stoppable() as stop, meter.running() as told:
        while True:
            done = await operate.forget_client(name, after=after, seconds=_SECONDS)
            removed.update(done.removed)
            out_of_reach |= dict.fromkeys(done.out_of_reach)
            told(sum(done.removed.values()))
            if done.after is None:
                return msgspec.structs.replace(done, removed=dict(removed), out_of_reach=tuple(out_of_reach))
            if stop.is_asked:
                raise Interrupted
            after = done.after


def _mine(app: Tenure) -> Operate:
    return app.operate.bound(by=this_user(), triggered_by="cli")


def _say_out_of_reach(found: ForgetResult) -> None:
    say_line("Out of reach:")
    for one in found.out_of_reach:
        say_line(f"  {one}")
