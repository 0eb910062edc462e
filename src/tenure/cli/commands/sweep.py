"""`tenure sweep`: one sweep by hand, and the retirement of dead workers.

Workers do both by themselves. By hand it is for consumers without a worker, and for people who do not want
to wait.
"""

import asyncio
from collections.abc import Sequence

import click
import msgspec

from tenure.app import Tenure
from tenure.broker import Swept
from tenure.cli.look import look
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import DURATION, spoken
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.client.operations.naming import queues_of
from tenure.event import Event
from tenure.message import MessageState
from tenure.runtime.background.sweeper import Sweeper


class _Done(msgspec.Struct, frozen=True):
    """The result of one or more sweeps."""

    returned: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    #: True: an outage was assumed, and leases got a fresh window.
    grace: bool = False
    #: Workers that were found dead or gone, and what they held was returned.
    retired: tuple[str, ...] = ()
    #: After a grace: seconds until the last of the fresh windows ends.
    windows_end_in: float | None = None

    def after(self, swept: Swept, retired: Sequence[str]) -> "_Done":
        """The sum of this and the next sweep."""
        return _Done(
            self.returned + swept.returned,
            self.dead + swept.dead,
            self.adopted + swept.adopted,
            self.grace or swept.grace,
            self.retired + tuple(retired),
            self.windows_end_in,
        )


@click.command(short_help="Return overdue leases and those of dead workers, by hand.")
@target_argument
@click.option(
    "--for", "for_seconds", type=DURATION, default="0", help="Keep sweeping for this long, at the sweep interval."
)
@json_option
def sweep(target: str | None, for_seconds: float, *, as_json: bool) -> None:
    """Return overdue leases and those of dead workers, by hand.

    Workers sweep every few seconds by themselves. Where none has for a while, an outage is assumed: every lease
    gets a fresh window in which its holder can renew it. It gets one between two touches, so a later sweep
    returns what was not touched since, however rarely you sweep. --for goes on until the windows have ended.
    """
    app = find(target)
    done = run(app, lambda app: _sweep(app, for_seconds))
    if as_json:
        say_json(done)
    else:
        _say(done, target or "")


async def _sweep(app: Tenure, for_seconds: float) -> _Done:
    told: list[Event] = []
    request = app.sweep_request()
    sweeper = Sweeper(app.broker, app.state.roster, app.clock, told.extend, request=request, triggered_by="cli")
    until = app.clock.monotonic() + for_seconds
    done = _Done()
    while True:
        retired = await sweeper.bury()
        done = done.after(await sweeper.sweep(), retired)
        if told:
            await app.state.journal.append(told)
            told.clear()
        left = until - app.clock.monotonic()
        if left <= 0:
            break
        await asyncio.sleep(min(left, request.interval_seconds))
    if done.grace:
        return msgspec.structs.replace(done, windows_end_in=await _windows_end_in(app))
    return done


async def _windows_end_in(app: Tenure) -> float | None:
    """Return the last deadline of all leases; None where there is none, or the broker cannot show it."""
    if MessageState.LEASED not in app.broker.traits.browsable:
        return None
    leased = look(app.broker, await queues_of(app.operate.access, None), [MessageState.LEASED], 10_000)
    ends = [one.browsed.deadline_in async for one in leased if one.browsed.deadline_in is not None]
    return max(ends, default=None)


def _say(done: _Done, target: str) -> None:
    for owner in done.retired:
        say_line(f"{owner} is gone: what it held is ready again")
    if done.adopted:
        say_line(f"{plural(len(done.adopted), 'lease')} had no end; now they have one")
    say_line(f"{plural(len(done.returned), 'overdue message')} returned, {len(done.dead)} to the dead letters")
    if done.grace and done.windows_end_in is not None:
        again = f"--for {max(1, round(done.windows_end_in + 1))}s"
        say_line(
            "No sweep ran for a while, so an outage is assumed: leases got a fresh window, the last of which "
            f"ends in {spoken(done.windows_end_in)}. A later sweep returns the leases that are not renewed by then."
        )
        say_line(f"To wait for that: {' '.join(f'tenure sweep {target} {again}'.split())}")
    elif done.grace:
        say_line(
            "No sweep ran for a while, so an outage is assumed: leases got a fresh window. A later sweep returns the "
            "leases that are not renewed by then."
        )
