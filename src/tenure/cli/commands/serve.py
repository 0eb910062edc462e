"""`tenure serve`: the HTTP server in a process of its own, until it is stopped."""

import asyncio
import contextlib
import logging
import sys
from typing import TYPE_CHECKING

import click

from tenure.app import Tenure
from tenure.assembly import full_url
from tenure.cli import logs
from tenure.cli.service_manager import ServiceManager
from tenure.cli.target import find, is_place, json_option, target_argument
from tenure.cli.terminal.duration import DURATION
from tenure.cli.terminal.output import say_json, say_line
from tenure.errors import StoreMissing

if TYPE_CHECKING:
    from tenure.server.options import Authenticate


@click.command(short_help="Serve HTTP: routes for any language, live events.")
@target_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Where to listen; 0: any free one. Default: 8383.")
@click.option("--view", is_flag=True, help="View only: no sweeps, no writes, every act is refused.")
@click.option("--read-only", is_flag=True, help="Refuse every act.")
@click.option(
    "--auth",
    metavar="MODULE:FUNCTION",
    help="A function that authenticates: takes the request, returns a Principal or None.",
)
@click.option("--open-on-loopback", is_flag=True, help="Programs on this machine need no token.")
@click.option("--base-path", default="", metavar="PATH", help="The path at which a proxy serves it, as in /tenure.")
@click.option("--create", is_flag=True, help="With a URL: create the store if it does not exist.")
@click.option("--grace", type=DURATION, help="How long requests may go on after SIGTERM. Default: 30s.")
@click.option("--log", "style", type=click.Choice(["text", "json"]), help="How to log. Default: text.")
@click.option("--verbose", "-v", is_flag=True, help="Log every request; without it, acts and refusals.")
@json_option
def serve(  # noqa: PLR0913 - one for each option
    target: str | None,
    host: str,
    port: int | None,
    auth: str | None,
    base_path: str,
    grace: float | None,
    style: str | None,
    *,
    view: bool,
    read_only: bool,
    open_on_loopback: bool,
    create: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Serve HTTP: routes for any language, live events.

    TARGET is an app (jobs:app), so that what is submitted is checked by its tasks, or a URL. Prints one line with the
    address. It returns overdue leases, as every worker does. SIGTERM or Ctrl-C lets requests finish within the grace.

    On this machine alone (127.0.0.1) no token is needed until one was made. Any other --host needs one, or --auth.

    \b
    tenure serve jobs:app
    tenure serve sqlite:///jobs.db --view
    tenure token create me --scope all && tenure serve jobs:app --host 0.0.0.0
    """  # noqa: D301 - click's mark for lines that stay as they are
    from tenure.server.extra import check_extra

    check_extra()
    from tenure.runtime import event_loop
    from tenure.server.application import asgi
    from tenure.server.web_server import address_of, bind, is_loopback
    from tenure.server.web_server import serve as serve_until_stopped

    logs.install(style or ("json" if as_json else "text"), verbose=verbose)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # we log the rest ourselves
    app = _app(target, view=view, create=create)
    application = asgi(
        app,
        authenticate=_hook(auth),
        view=view,
        read_only=read_only,
        base_path=base_path,
        open_on_loopback=open_on_loopback,
        hosts=[host],
        any_address=not is_loopback(host),
    )
    sock = bind(host, app.settings.server_port if port is None else port)
    address = f"{address_of(sock, host)}{application.server.options.base_path}"
    grace = app.settings.grace_seconds if grace is None else grace

    manager = ServiceManager.from_environment()
    watching: list[asyncio.Task[None]] = []
    refuses_acts = application.server.options.refuses_acts

    def on_started() -> None:
        if as_json:
            say_json({"url": address, "store": full_url(app.url), "read_only": refuses_acts})
        else:
            say_line(f"Serving {full_url(app.url)} at {address}{' (every act is refused)' if refuses_acts else ''}")
        manager.ready(f"serves {full_url(app.url)} at {address}")
        watching.append(asyncio.create_task(manager.watch(lambda: asyncio.sleep(0))))

    try:
        serving = serve_until_stopped(application, sock, host, grace, on_started, manager.stopping)
        event_loop.run(serving, app.settings.loop)
    except StoreMissing as error:
        if is_place(target) and not create:
            error.add_note("--create makes it")
        raise


def _app(target: str | None, *, view: bool, create: bool) -> Tenure:
    app = find(target, must_exist=not create)
    if view and not is_place(target):
        # The app's own code may create the store when it is opened; who only looks must not.
        asyncio.run(_check_there(app.url))
    return app


async def _check_there(url: str) -> None:
    there = Tenure(url, must_exist=True)
    async with contextlib.AsyncExitStack() as stack:
        await there.open(wait_for_broker=0)
        stack.push_async_callback(there.close)


def _hook(reference: str | None) -> "Authenticate | None":
    if reference is None:
        return None
    from tenure.cli.loading import load_function

    # What a module prints while it is imported must not end up in our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        return load_function(reference)
