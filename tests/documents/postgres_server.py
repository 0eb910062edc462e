"""A PostgreSQL with pgvector, of the package pgserver: one for a test process, with a database for each test."""

import itertools
import tempfile
import warnings
from functools import cache
from typing import Any

import psycopg
from tests.servers.binary import binary

_numbers = itertools.count()


@cache
def _server() -> Any:
    binary("pgserver")  # raises `NotInstalled`
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks for a folder of the user's session, which there may be none of
        from pgserver.postgres_server import get_server

        return get_server(tempfile.mkdtemp(prefix="tenure-pg-"), cleanup_mode="delete")


def stop() -> None:
    """Stop the server of this process, if there is one. Its processes are daemons: they would go on without it."""
    if _server.cache_info().currsize:
        _server().cleanup()
        _server.cache_clear()


def new_database() -> str:
    """The URL of an empty database."""
    name = f"test_{next(_numbers)}"
    url: str = _server().get_uri()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type, unused-ignore] # a constant and a number
    return url.replace("/postgres?", f"/{name}?")
