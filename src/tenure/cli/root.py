"""The root of the command line: what commands there are, and how each of them ends.

The exit code is part of the interface, so it is in the help and is decided in one place (`failing.py`).
"""

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import click

from tenure.cli.failing import ending
from tenure.cli.lazy import LazyGroup

_SECTIONS = {
    "Run": {
        "demo": ("tenure.cli.commands.demo.command:demo", "Watch Tenure keep its promises, with nothing to set up."),
        "worker": ("tenure.cli.commands.worker.worker:worker", "Run messages of an app's tasks until stopped."),
        "submit": ("tenure.cli.commands.submit.submit:submit", "Send one message for a task."),
        "serve": ("tenure.cli.commands.serve:serve", "Serve HTTP: routes for any language, live events."),
    },
    "Look": {
        "top": ("tenure.cli.commands.top.command:top", "Watch queues, tasks, leases and workers, live."),
        "queues": (
            "tenure.cli.commands.queues:queues",
            "Show how many messages each queue holds, and its pauses.",
        ),
        "clients": ("tenure.cli.commands.clients:clients", "Show the clients: what waits, what runs, their quotas."),
        "messages": ("tenure.cli.commands.messages:messages", "Show messages, changing nothing."),
        "show": ("tenure.cli.commands.show.command:show", "Show the whole life of one message, or a group."),
        "trace": ("tenure.cli.commands.show.command:show", "Show the whole life of one message, or a group."),
        "stack": ("tenure.cli.commands.stack.command:stack", "Show what a running handler is doing now."),
        "events": ("tenure.cli.commands.events.command:events", "Show what happened, or what happens now."),
        "acts": ("tenure.cli.commands.acts:acts", "Show who did what: the audit log."),
        "workers": ("tenure.cli.commands.workers:workers", "Show the workers that are alive; drain or stop one."),
        "findings": (
            "tenure.cli.commands.findings:findings",
            "Show what is wrong now; acknowledge or silence it.",
        ),
        "health": ("tenure.cli.commands.health:health", "Check for a probe: the store answers, workers are alive."),
        "doctor": ("tenure.cli.commands.doctor.command:doctor", "Check the whole set-up, and say what to change."),
        "schedules": ("tenure.cli.commands.schedules:schedules", "Show the schedules; run, pause or resume one."),
        "timing": ("tenure.cli.commands.timing:timing", "Show how long tasks take, and how their leases fit."),
        "scaling": ("tenure.cli.commands.scaling.command:scaling", "Show how many workers each queue needs, and why."),
    },
    "Plan": {
        "simulate": (
            "tenure.cli.commands.simulate.command:simulate",
            "Show what a lease policy would do, on virtual time.",
        ),
    },
    "Act": {
        "dead": ("tenure.cli.commands.dead:dead", "Look at dead letters, send them back, or delete them."),
        "cancel": ("tenure.cli.commands.cancel:cancel", "Cancel messages, also running ones."),
        "run-now": ("tenure.cli.commands.run_now:run_now", "Run a delayed message now."),
        "touch": ("tenure.cli.commands.touch:touch", "Give a running message more time."),
        "pause": ("tenure.cli.commands.pause:pause", "Stop workers from leasing from a queue."),
        "resume": ("tenure.cli.commands.pause:resume", "Let workers lease from a paused queue again."),
        "limit": ("tenure.cli.commands.limit:limit", "Limit how many of a queue run at once or start in a time."),
        "client": ("tenure.cli.commands.client:client", "Show, pause, limit, purge or forget one client."),
        "purge": ("tenure.cli.commands.purge:purge", "Remove everything that waits in a queue."),
        "sweep": ("tenure.cli.commands.sweep:sweep", "Return overdue leases and those of dead workers, by hand."),
    },
    "Tell others": {
        "webhooks": (
            "tenure.cli.commands.webhooks:webhooks",
            "Register receivers of webhooks; show and replay deliveries.",
        ),
    },
    "Documents": {
        # By name alone: nothing of Tenure imports this package.
        "documents": (
            "tenure.documents.cli.command:documents",
            "Index documents; search, summarize and ask them.",
        ),
    },
    "More": {
        "monitoring": (
            "tenure.cli.commands.monitoring:monitoring",
            "Write queries and alerts for the systems that watch Tenure.",
        ),
        "token": ("tenure.cli.commands.token:token", "Create, list and revoke access tokens of the server."),
        "settings": (
            "tenure.cli.commands.settings:settings",
            "Show the settings in force, and where each is from.",
        ),
        "audit": ("tenure.cli.commands.audit:audit", "Read source code for mistakes with queues; nothing is run."),
        "migrate": ("tenure.cli.commands.migrate:migrate", "Come from Celery, or from an earlier version."),
        "completion": ("tenure.cli.commands.completion:completion", "Print the completion script for a shell."),
    },
}

_EPILOG = """\
TARGET is an app (module:attribute, as in jobs:app, found from the current folder) or a URL such as
sqlite:///jobs.db. It may be left out where TENURE_URL names one or the other.

\b
Exit codes:
  0    done
  1    the broker is in trouble (away, locked, unwritable, damaged, too new);
       submit --wait: there is no result; cancel: it was too late for some;
       demo: a promise was broken; audit: it found something;
       health: unhealthy; doctor: it found something
  2    bad input or configuration; nothing was changed;
       doctor: it could not look
  70   a bug in Tenure itself; TENURE_DEBUG=1 shows the traceback
  130  interrupted

Errors are one line on standard error: error[code]: sentence. The codes are stable.
With --json it is a JSON object with code, message and remedy.
"""


class _Root(LazyGroup):
    """The outermost group: nothing passes it but an exit code."""

    def main(  # type: ignore[override]  # click's overloads, in one
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; ends the process with its exit code."""
        run = super().main
        if not standalone_mode:
            return run(args, prog_name, standalone_mode=False, **extra)
        as_json = _wants_json(sys.argv[1:] if args is None else args)
        sys.exit(ending(lambda: run(args, prog_name, standalone_mode=False, **extra), as_json=as_json))


def _wants_json(words: Sequence[str]) -> bool:
    """Asked of the words themselves: where they do not fit the command, nothing else has read them."""
    return "--json" in itertools.takewhile(lambda word: word != "--", words)


def _show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"tenure {version('tenure')}")  # noqa: TID251 - our own words
    except PackageNotFoundError:
        click.echo("tenure (not installed: run from its source)")  # noqa: TID251 - our own words
    ctx.exit()


@click.group(cls=_Root, sections=_SECTIONS, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Queue messages processed under a lease.

    No message lost, no completed one run twice, a crashed worker's message back in seconds.
    """
