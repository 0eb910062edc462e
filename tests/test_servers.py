"""The servers that other tests rely on: they answer, obey, keep their data, and never outlive the tests."""

import os
import platform
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.servers import KINDS, Kind, Proxy, ServerError, ask, installed, start_cluster, start_redis, start_sentinel
from tests.servers.azure import is_azure_installed, preloaded_words
from tests.servers.replication import until_replicated
from tests.servers.server import free_port, until

pytestmark = pytest.mark.scenario

_VERSIONS = {"valkey9": "valkey_version:9.", "redis62": "redis_version:6.2.", "redis70": "redis_version:7.0."}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of server."""
    found: Kind = request.param
    return found


def test_the_packages_bring_their_servers() -> None:
    """As pyproject.toml asks for them: without these, the tests of every adapter would pass by testing nothing."""
    assert "valkey9" in installed()
    if sys.version_info < (3, 13) and (sys.platform, platform.machine()) == ("linux", "x86_64"):
        assert "redis62" in installed()


def test_a_server_answers_as_what_it_is_and_stops(kind: Kind, tmp_path: Path) -> None:
    with start_redis(kind, tmp_path) as server:
        assert _VERSIONS[kind] in str(server.ask("INFO", "server"))
        assert server.url == f"redis://127.0.0.1:{server.port}/0"
    assert not server.is_running
    with pytest.raises(OSError, match="refused"):
        server.ask("PING")


def test_its_configuration_is_as_asked(kind: Kind, tmp_path: Path) -> None:
    port = free_port()
    with start_redis(kind, tmp_path, port=port, config=["maxmemory 3mb", "requirepass secret"]) as server:
        assert server.port == port
        with pytest.raises(ServerError, match="NOAUTH"):
            server.ask("SET", "a", 1)
        with pytest.raises(ChildProcessError, match="in use"):
            start_redis(kind, tmp_path / "other", port=port)


def test_a_killed_server_comes_back_on_the_same_port_with_what_it_kept(kind: Kind, tmp_path: Path) -> None:
    with start_redis(kind, tmp_path, appendonly=True) as server:
        server.ask("SET", "a", "kept")
        pid = server.pid
        server.kill()
        assert not server.is_running
        server.restart()
        assert server.pid != pid
        assert server.ask("GET", "a") == "kept"


def test_without_appendonly_a_killed_server_comes_back_empty(kind: Kind, tmp_path: Path) -> None:
    with start_redis(kind, tmp_path) as server:
        server.ask("SET", "a", "kept")
        server.restart()
        assert server.ask("GET", "a") is None


def test_a_frozen_server_answers_nobody_until_it_is_resumed(kind: Kind, tmp_path: Path) -> None:
    with start_redis(kind, tmp_path) as server:
        server.freeze()
        with pytest.raises(TimeoutError):
            ask(server.port, "PING", seconds=0.5)
        server.resume()
        assert server.ask("PING") == "PONG"
        server.freeze()  # stopped though frozen
    assert not server.is_running


def test_a_cluster_keeps_each_key_on_one_of_three_nodes(kind: Kind, tmp_path: Path) -> None:
    with start_cluster(kind, tmp_path) as cluster:
        assert len(cluster.nodes) == 3
        keepers = {cluster.node_of(key) for key in ("{a}", "{b}", "{c}")}
        assert keepers == set(cluster.nodes)
        keeper = cluster.node_of("{b}")
        keeper.ask("SET", "{b}", "here")
        other = next(node for node in cluster.nodes if node is not keeper)
        with pytest.raises(ServerError, match=f"MOVED .*:{keeper.port}"):
            other.ask("GET", "{b}")
    assert not any(node.is_running for node in cluster.nodes)


@pytest.mark.parametrize("sentinels", [1, 3])
def test_sentinels_make_the_replica_the_master(kind: Kind, sentinels: int, tmp_path: Path) -> None:
    with start_sentinel(kind, tmp_path, sentinels=sentinels) as watched:
        assert watched.current is watched.master
        watched.master.ask("SET", "a", "kept")
        assert watched.master.ask("WAIT", 1, 15_000) == 1
        watched.master.kill()
        assert watched.until_failed_over() is watched.replica is watched.current
        assert watched.replica.ask("GET", "a") == "kept"
        assert watched.replica.ask("SET", "a", "new") == "OK"
    assert not any(one.is_running for one in (*watched.sentinels, watched.replica))


def test_a_replica_follows_only_when_a_write_has_reached_it(kind: Kind, tmp_path: Path) -> None:
    """Its link is up and its master calls it online, and still nothing may arrive."""
    with (
        start_redis(kind, tmp_path) as master,
        Proxy(master.port) as between,
        start_redis(kind, tmp_path, config=[f"replicaof 127.0.0.1 {between.port}"]) as replica,
    ):
        until_replicated(master, replica)
        between.hold()
        assert "master_link_status:up" in str(replica.ask("INFO", "replication"))
        assert "state=online" in str(master.ask("INFO", "replication"))
        with pytest.raises(TimeoutError, match="a write has reached the replica"):
            until_replicated(master, replica, within=0.3)
        between.pass_on()
        until_replicated(master, replica)


@pytest.mark.skipif(sys.platform != "linux", reason="not applicable: only Linux ends children with their parent")
def test_a_server_does_not_outlive_a_test_process_that_was_killed(tmp_path: Path) -> None:
    program = """
        import sys, time
        from pathlib import Path
        from tests.servers import start_redis

        print(start_redis("valkey9", Path(sys.argv[1])).pid, flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60  # noqa: TID251 - a real process
    while _is_running(pid):
        assert time.monotonic() < deadline, "the server lives on"  # noqa: TID251 - likewise
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_a_proxy_passes_cuts_holds_and_loses_answers(tmp_path: Path) -> None:
    with start_redis("valkey9", tmp_path) as server, Proxy(server.port) as proxy:
        assert ask(proxy.port, "SET", "a", "1") == "OK"
        proxy.cut()
        with pytest.raises(OSError, match=r"hung up|reset"):
            ask(proxy.port, "SET", "a", "2")
        proxy.drop_replies()
        with pytest.raises(TimeoutError):
            ask(proxy.port, "SET", "a", "3", seconds=0.2)
        until(lambda: server.ask("GET", "a") == "3", "what was asked has reached the server")
        proxy.hold()
        with pytest.raises(TimeoutError):
            ask(proxy.port, "SET", "a", "4", seconds=0.2)
        assert server.ask("GET", "a") == "3"
        proxy.pass_on()
        assert ask(proxy.port, "SET", "a", "5") == "OK"


def test_azurite_does_not_stop_answering_once_a_minute_to_free_what_was_deleted(tmp_path: Path) -> None:
    """With a thousand messages and more that takes it seconds, in which calls of ours ran into their timeouts."""
    if not is_azure_installed():
        pytest.skip("azurite is not installed")
    asking = tmp_path / "ask.js"
    asking.write_text(
        """
        const where = require('node:path').dirname(process.argv[1]);
        const interval = (service) => require(`${where}/${service}/utils/constants.js`).DEFAULT_GC_INTERVAL_MS;
        console.log(Math.min(interval('queue'), interval('blob')));
        process.exit();
        """
    )
    *words, main = preloaded_words()
    told = subprocess.run([*words, "--require", asking, main], check=True, capture_output=True, text=True).stdout
    assert int(told) > 86_400_000
