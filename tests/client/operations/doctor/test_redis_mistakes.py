"""Mistakes planted in a real Valkey."""

from pathlib import Path

import pytest
from tests.servers import start_redis
from tests.servers.server import until

from tenure import Tenure
from tenure.adapters.redis.examination import examine
from tenure.adapters.redis.options import RedisOptions
from tenure.client.operations.doctor.diagnosis import Diagnosis, Outcome
from tenure.finding import Severity

from .setups import UNSWEPT, diagnosed, of_set_up, only

pytestmark = pytest.mark.real_time


async def _without_worker(url: str) -> Diagnosis:
    async with Tenure(url, settings=UNSWEPT) as app:
        return await app.operate.doctor()


async def test_a_server_that_may_drop_keys(tmp_path: Path) -> None:
    with start_redis("valkey9", tmp_path, appendonly=True, config=["maxmemory-policy allkeys-lru"]) as server:
        found = only(await diagnosed(server.url))
    assert (found.id, found.severity) == ("eviction_policy", Severity.CRITICAL)
    assert "allkeys-lru" in found.evidence


async def test_a_server_that_keeps_nothing_on_disk(tmp_path: Path) -> None:
    with start_redis("valkey9", tmp_path) as server:
        found = only(await diagnosed(server.url))
        assert (found.id, found.severity) == ("redis_persistence", Severity.CRITICAL)
        server.ask("CONFIG", "SET", "save", "900 1")
        snapshots = only(await diagnosed(server.url))
    assert (snapshots.id, snapshots.severity) == ("redis_persistence", Severity.WARNING)
    assert "after the last snapshot (900 1)" in snapshots.evidence


async def test_a_log_that_is_not_flushed(tmp_path: Path) -> None:
    with start_redis("valkey9", tmp_path, appendonly=True) as server:
        server.ask("CONFIG", "SET", "appendfsync", "no")
        found = only(await diagnosed(server.url))
    assert (found.id, found.severity) == ("redis_persistence", Severity.WARNING)
    assert "appendfsync no" in found.evidence


async def test_a_server_that_is_nearly_full(tmp_path: Path) -> None:
    with start_redis("valkey9", tmp_path, appendonly=True) as server:
        server.ask("SET", "ballast", "x" * 20_000_000)
        server.ask("CONFIG", "SET", "maxmemory", "26mb")
        found = only(await diagnosed(server.url))
    assert found.id == "redis_memory"
    assert "maxmemory of 26 MiB" in found.evidence


async def test_a_server_that_cannot_write_to_its_disk(tmp_path: Path) -> None:
    """A folder is in the place of its snapshot, so the last one failed."""
    with start_redis("valkey9", tmp_path, appendonly=True) as server:
        (server.folder / "dump.rdb").mkdir()
        server.ask("BGSAVE")
        until(lambda: "rdb_last_bgsave_status:err" in str(server.ask("INFO", "persistence")), "the snapshot fails")
        found = {one.id: one for one in of_set_up(await _without_worker(server.url))}
    assert found["redis_disk"].severity is Severity.CRITICAL
    assert "rdb_last_bgsave_status:err" in found["redis_disk"].evidence


async def test_replication_that_was_asked_for_and_is_not_there(tmp_path: Path) -> None:
    """Nothing can be sent there, and the doctor's own note is not confirmed either."""
    with start_redis("valkey9", tmp_path, appendonly=True) as server:
        url = f"{server.url}?durability=replicated&timeout_seconds=0.5"
        async with Tenure(url, settings=UNSWEPT) as app:
            found = await app.operate.doctor()
    assert "replica_missing" in {one.id for one in found.findings}
    assert ("writing", Outcome.FAILED) in {(one.id, one.outcome) for one in found.checks}


async def test_a_server_beyond_this_machine_without_tls_and_password(tmp_path: Path) -> None:
    """The server is here; the name that its clients know it by is another machine's."""
    with start_redis("valkey9", tmp_path, appendonly=True) as server:

        async def command(*words: str) -> object:
            if words[0] == "CONFIG":
                return [words[2].encode(), str(server.ask(*words)[1]).encode()]  # type: ignore[index]
            return str(server.ask(*words)).encode()

        found = await examine(command, RedisOptions(hosts=(("queue.example.com", 6379),)))
        assert [one.id for examined in found for one in examined.findings] == ["tls_off", "login_missing"]
        found = await examine(command, RedisOptions(hosts=(("queue.example.com", 6379),), tls=True, password="p"))
        assert [one.id for examined in found for one in examined.findings] == []
        found = await examine(
            command, RedisOptions(hosts=(("queue.example.com", 6379),), tls=True, verify=False, password="p")
        )
        assert [one.id for examined in found for one in examined.findings] == ["tls_unverified"]


async def test_what_a_server_does_not_tell_is_no_good_news(tmp_path: Path) -> None:
    """A user without CONFIG, as on a hosted server: whether there are snapshots is not known, and said so."""
    with start_redis("valkey9", tmp_path) as server:
        rules = "on >secret ~tenure:* &tenure:* +@all -@admin -@dangerous +info"
        server.ask("ACL", "SETUSER", "worker", *rules.split())
        found = only(await diagnosed(f"redis://worker:secret@127.0.0.1:{server.port}/0"))
    assert (found.id, found.severity) == ("redis_persistence", Severity.WARNING)
    assert "does not tell" in found.evidence
