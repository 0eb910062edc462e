"""A stand-in for Supabase's REST API: the few requests of PostgREST that the index makes, as SQL on a real PostgreSQL.

It knows `col=eq.value`, `select`, `order`, `limit`, `offset`, `on_conflict`, the preferences `resolution` and `return`,
and calls of functions; anything else is refused. That requests mean there what they mean here is read from PostgREST's
documentation, not measured.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import psycopg
from psycopg.rows import dict_row

KEY = "service-role-key"
_NAME = re.compile(r"[a-z_]+")


class PostgREST:
    """The API over one database."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        #: Requests so far.
        self.requests: list[str] = []
        #: Requests from this one on are cut off before they are answered. None: none is.
        self.cut_off_at: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, Any]:
        if headers["apikey"] != KEY or headers["Authorization"] != f"Bearer {KEY}":
            return 401, {"message": "Invalid API key"}
        path, given = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
        table = path.removeprefix("/rest/v1/")
        preferred = set((headers["Prefer"] or "").split(","))
        try:
            with psycopg.connect(self._database, row_factory=dict_row) as db:
                if table.startswith("rpc/"):
                    return 200, _called(db, table.removeprefix("rpc/"), body)
                return _on_table(db, method, table, given, body, preferred)
        except psycopg.errors.UndefinedTable as error:
            return 404, {"code": "PGRST205", "message": str(error)}
        except psycopg.Error as error:
            return 400, {"code": error.sqlstate, "message": str(error)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                api.requests.append(f"{self.command} {urlsplit(self.path).path}")
                if api.cut_off_at is not None and len(api.requests) > api.cut_off_at:
                    self.close_connection = True
                    return
                status, answer = api.answer(self.command, self.path, self.headers, json.loads(body) if body else None)
                raw = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - http.server's

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's
                """Say nothing."""

        return Handler


def _called(db: Any, function: str, arguments: dict[str, Any]) -> list[Any]:
    assert _NAME.fullmatch(function)
    assert all(_NAME.fullmatch(name) for name in arguments)
    # PostgREST takes the arguments from one JSON document, too, so that their types are the function's.
    words = ", ".join(f"{name} => (%(given)s::jsonb ->> '{name}')::{_type(name)}" for name in arguments)
    return list(db.execute(f"SELECT * FROM {function}({words})", {"given": json.dumps(arguments)}).fetchall())


def _type(name: str) -> str:
    return {"query_embedding": "vector", "match_count": "integer", "filter": "jsonb"}.get(name, "text")


def _on_table(
    db: Any, method: str, table: str, given: dict[str, str], body: Any, preferred: set[str]
) -> tuple[int, Any]:
    assert _NAME.fullmatch(table)
    conflict = given.pop("on_conflict", "")
    columns = given.pop("select", "*")
    order, limit, offset = (given.pop(name, "") for name in ("order", "limit", "offset"))
    for word in (*conflict.split(","), *columns.replace("*", "a").split(","), *order.split(",")):
        assert not word or _NAME.fullmatch(word), word
    assert all(_NAME.fullmatch(name) and value.startswith("eq.") for name, value in given.items()), given
    where = " AND ".join(f"{name} = %({name})s" for name in given) or "true"
    values = {name: value.removeprefix("eq.") for name, value in given.items()}
    if method == "GET":
        rest = (f" ORDER BY {order}" if order else "") + (f" LIMIT {int(limit)} OFFSET {int(offset)}" if limit else "")
        return 200, list(db.execute(f"SELECT {columns} FROM {table} WHERE {where}{rest}", values).fetchall())
    if method == "DELETE":
        assert values, "PostgREST would delete every row"
        deleted = db.execute(f"DELETE FROM {table} WHERE {where} RETURNING {columns}", values).fetchall()
        return 200, list(deleted)
    assert "return=minimal" in preferred
    names = ", ".join(body[0])
    changes = ", ".join(f"{name} = excluded.{name}" for name in body[0] if name not in conflict.split(","))
    is_merged = "resolution=merge-duplicates" in preferred
    action = f"UPDATE SET {changes}" if is_merged else "NOTHING"
    db.execute(
        f"INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %s)"
        f" ON CONFLICT ({conflict}) DO {action}",
        [json.dumps(body)],
    )
    return 201, None


@contextmanager
def postgrest(database: str) -> Iterator[PostgREST]:
    """Start one over a database, and stop it."""
    api = PostgREST(database)
    api.start()
    try:
        yield api
    finally:
        api.stop()
