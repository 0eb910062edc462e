"""`tenure documents serve`: search over HTTP."""

import os

import click

from tenure.documents.cli.options import index_option, json_option
from tenure.documents.cli.terminal import say, say_json
from tenure.documents.library import Library
from tenure.errors import BadSetting, MissingExtra

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@click.command(short_help="Serve search over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8484, show_default=True, help="Where to listen.")
@index_option
@json_option
def serve(host: str, port: int, index: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Serve search over HTTP until stopped.

    TENURE_DOCUMENTS_TOKEN: who asks must send it as a bearer token. Needed where
    anything but this machine can connect.
    """
    token = os.environ.get("TENURE_DOCUMENTS_TOKEN", "").strip()
    if not token and host not in _LOOPBACK:
        raise BadSetting(f"{host} can be reached from elsewhere: set TENURE_DOCUMENTS_TOKEN. Nothing was started")
    try:
        import uvicorn  # noqa: PLC0415 - of the extra
    except ImportError as error:
        raise MissingExtra("serving needs an HTTP server: pip install 'tenure[server]'") from error
    from tenure.documents.http import asgi  # noqa: PLC0415 - of the extra

    url = f"http://{host}:{port}/search?question=…"
    if as_json:
        say_json({"url": url})
    else:
        say(f"Serving {url}", err=True)
    hosts = () if token else _LOOPBACK
    uvicorn.run(asgi(Library(index), token=token, hosts=hosts), host=host, port=port, log_level="warning")
