"""`tenure serve` as people run it: real processes, real sockets."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Run, answer, folder, tenure
from tests.cli.process import started
from tests.examples.program import free_port

from .asking import bearer
from .serving import answer_of, connected, served, until

pytestmark = pytest.mark.scenario

__all__ = ["folder", "tenure"]  # the fixtures of the command line
SESSION = "/api/v1/session"
URL = "sqlite:///jobs.db"


def test_it_prints_its_address_serves_and_ends_cleanly_on_sigterm(folder: Path) -> None:
    with served("jobs:app") as (process, client):
        assert client.get("/readyz").json() == {"ready": True, "problems": []}
        assert client.get(SESSION).json()["name"] == "loopback"
        process.send(signal.SIGTERM)
        assert process.ends() == 0
        assert process.process.stdout is not None
        assert process.process.stdout.read() == ""
    assert "Traceback" not in "".join(process.lines)


def test_ctrl_c_twice_ends_at_once_also_while_a_request_hangs(folder: Path) -> None:
    with served("jobs:app") as (process, client), connected(client) as connection:
        connection.sendall(
            b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9\r\n\r\n"
        )
        until(lambda: client.get("/livez").status_code == 200)
        process.send(signal.SIGINT)
        process.says("stopping: ")
        process.send(signal.SIGINT)
        assert process.ends() == 0


def test_a_request_under_way_is_finished_before_it_ends(folder: Path) -> None:
    with served("jobs:app") as (process, client), connected(client) as connection:
        body = b'{"token": "x"}'
        head = f"POST {SESSION} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        connection.sendall(f"{head}{len(body)}\r\n\r\n".encode())
        until(lambda: client.get("/livez").status_code == 200)
        process.send(signal.SIGTERM)
        process.says("stopping: ")
        connection.sendall(body)
        found = answer_of(connection)
        assert found.startswith(b"HTTP/1.1 401")
        assert b"unauthenticated" in found
        assert process.ends() == 0


def test_what_is_wrong_is_one_line_with_what_to_do(tenure: Run, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, code, remedy in (
            (["jobs:app", "--port", port], "port_in_use", "--port"),
            ([URL, "--port", "0"], "store_missing", "--create"),
            (["jobs:app", "--host", "0.0.0.0", "--port", "0"], "unprotected", "tenure token create"),  # noqa: S104
            (["jobs:app", "--host", "nowhere.invalid", "--port", "0"], "configuration", "127.0.0.1"),
            (["jobs:nothing"], "bad_target", "jobs:app"),
            (["jobs:app", "--auth", "jobs:nothing", "--port", "0"], "bad_target", "jobs"),
            (["jobs:app", "--auth", "jobs", "--port", "0"], "bad_target", "module:function"),
            (["jobs:app", "--base-path", "tenure", "--port", "0"], "configuration", "/tenure"),
        ):
            result = tenure("serve", *words)
            assert result.exit_code == 2, words
            assert result.stderr.count("\n") == 1, result.stderr
            assert f"error[{code}]" in result.stderr
            assert remedy in result.stderr


def test_without_the_extra_it_says_what_to_install(tenure: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "starlette" else found(name, *more)
    )
    result = tenure("serve", "jobs:app")
    assert result.exit_code == 2
    assert "error[missing_extra]" in result.stderr
    assert "pip install 'tenure[server]'" in result.stderr
    with pytest.raises(Exception, match="pip install"):
        from tenure.server import asgi as _  # noqa: F401


def test_tokens_are_made_on_the_command_line_and_revoked_for_running_servers(tenure: Run, folder: Path) -> None:
    with served("jobs:app") as (_, one), served(URL) as (_, two):
        made = tenure("token", "create", URL, "ci", "--scope", "read", "--queue", "acme-*", "--expires", "1h")
        token = made.stdout.strip()
        assert re.fullmatch(r"tnr_[0-9a-f]{12}_[0-9a-f]{64}", token)
        assert token not in made.stderr
        until(lambda: one.get(SESSION).status_code == two.get(SESSION).status_code == 401, 5)
        for client in (one, two):
            session = client.get(SESSION, headers=bearer(token)).json()
            assert (session["name"], session["scopes"], session["queues"]) == ("ci", ["read"], ["acme-*"])
        until(lambda: answer(tenure("token", "list", URL, "--json"))["tokens"][0]["used_at"] is not None)
        (listed,) = answer(tenure("token", "list", URL, "--json"))["tokens"]
        assert "ci" in tenure("token", "list", URL).stdout
        gone = answer(tenure("token", "revoke", URL, listed["id"], "--json"))
        assert [one["id"] for one in gone["revoked"]] == [listed["id"]]
        until(lambda: {one.get(SESSION, headers=bearer(token)).status_code,
                       two.get(SESSION, headers=bearer(token)).status_code} == {401}, 5)  # fmt: skip
        again = tenure("token", "revoke", URL, listed["id"])
        assert (again.exit_code, "token_not_found" in again.stderr) == (1, True)
    acts = answer(tenure("acts", URL, "--json"))["acts"]
    assert [(act["kind"], act["triggered_by"]) for act in acts] == [("token_revoked", "cli"), ("token_created", "cli")]


def test_another_host_needs_a_token_and_then_works(tenure: Run, folder: Path) -> None:
    token = tenure("token", "create", "jobs:app", "me", "--scope", "all").stdout.strip()
    with served("jobs:app", "--host", "0.0.0.0") as (_, client):  # noqa: S104
        port = client.base_url.port
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as here:
            assert here.get(SESSION).status_code == 401
            assert here.get(SESSION, headers=bearer(token)).status_code == 200


def test_the_hook_of_a_module_says_who_asks(folder: Path) -> None:
    (folder / "auth.py").write_text(
        "from tenure.server import AccessScope, Principal\n\n\n"
        "def authenticate(request):\n"
        '    if request.headers.get("x-user") == "alice":\n'
        '        return Principal("alice", frozenset({AccessScope.READ}), ("*",))\n'
    )
    with served("jobs:app", "--auth", "auth:authenticate") as (_, client):
        assert client.get(SESSION).status_code == 401
        assert client.get(SESSION, headers={"X-User": "alice"}).json()["name"] == "alice"


def test_a_proxy_is_believed_only_if_it_was_named(tenure: Run, folder: Path) -> None:
    token = tenure("token", "create", "jobs:app", "me", "--scope", "all").stdout.strip()
    headers = {**bearer("tnr_000000000000_" + "0" * 64), "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
    for proxies, source in (({}, "127.0.0.1"), ({"TENURE_SERVER_PROXIES": "127.0.0.0/8"}, "203.0.113.7")):
        with served("jobs:app", **proxies) as (process, client):
            assert client.get(SESSION, headers=headers).status_code == 401
            process.says(f"– at {source}")
            logged_in = client.post(SESSION, json={"token": token}, headers={**headers, "Authorization": ""})
            assert ("; Secure" in logged_in.headers["set-cookie"]) is bool(proxies)


def test_headers_that_do_not_come_are_not_waited_for(folder: Path) -> None:
    with served("jobs:app") as (_, client), connected(client) as idle, connected(client) as slow:
        slow.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert answer_of(slow).startswith(b"HTTP/1.1 408")
        assert answer_of(idle).startswith(b"HTTP/1.1 408")
        assert client.get("/livez").status_code == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
    ids=["two lengths", "unknown encoding", "no host", "long line", "nonsense"],
)
def test_what_is_no_http_is_refused_and_the_connection_closed(folder: Path, raw: bytes) -> None:
    with served("jobs:app") as (_, client), connected(client) as connection:
        connection.sendall(raw)
        assert re.match(rb"HTTP/1.1 4\d\d", answer_of(connection))


_MOUNTED = """
from tenure import Tenure
from tenure.server import asgi

server = asgi(Tenure("sqlite:///jobs.db"))
"""


def test_four_uvicorn_workers_share_a_store_and_its_tokens(tenure: Run, folder: Path) -> None:
    (folder / "mounted.py").write_text(_MOUNTED)
    token = tenure("token", "create", "jobs:app", "me", "--scope", "all").stdout.strip()
    port = free_port()
    with uvicorn("mounted:server", "--workers", "4", "--port", str(port)) as process:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            until(lambda: _is_there(port) and client.get("/readyz").json()["ready"])
            made = client.post(SESSION, json={"token": token}).headers["set-cookie"].split(";")[0]
        for number in range(40):  # each on a connection of its own, so that all of them are asked
            how = bearer(token) if number % 2 else {"Cookie": made}
            assert httpx.get(f"http://127.0.0.1:{port}{SESSION}", headers=how, trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)


def _is_there(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


class _Uvicorn:
    def __init__(self, *words: str) -> None:
        self._words = words

    def __enter__(self) -> subprocess.Popen[bytes]:
        import tenure as package

        environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", *self._words], env=environment, start_new_session=True
        )
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


uvicorn = _Uvicorn


def test_json_says_where_it_is(folder: Path) -> None:
    import json

    with started("serve", "jobs:app", "--port", "0", "--json", "--read-only") as process:
        assert process.process.stdout is not None
        said = json.loads(process.process.stdout.readline())
        assert said["url"].startswith("http://127.0.0.1:")
        assert said["read_only"] is True
        assert said["store"].startswith("sqlite:////")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("TENURE_SERVER"):
            monkeypatch.delenv(name)
