"""Examines a Redis server: eviction, persistence, memory, replicas, and whether the way there is encrypted.

Reads `INFO`, which Tenure's user may do, and `CONFIG GET`, which it may not have to: what is not told is said to be
unknown. In a cluster it asks the server that keeps what belongs to no queue. Used by `RedisBroker.examine`.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from tenure.adapters.redis.options import RedisOptions
from tenure.errors import BrokerError, ConfigurationError
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.ledger_window import examine_window
from tenure.rules.open_connection import find_unencrypted, is_local

#: Of `maxmemory`: from here on somebody should look, and from here on sends will soon be refused.
_MEMORY_WARNING, _MEMORY_CRITICAL = 0.75, 0.9
_MIB = 1 << 20

Command = Callable[..., Awaitable[Any]]
Facts = Mapping[str, str]


async def examine(command: Command, options: RedisOptions) -> list[Examination]:
    """Examine the server at the other end of `command`."""
    facts: dict[str, str] = {}
    for section in ("server", "memory", "persistence", "replication"):
        facts |= _read(await command("INFO", section))
    told = {name: await _setting(command, name) for name in ("save", "appendfsync")}
    return [
        _server(facts),
        _connection(options),
        _eviction(facts, options.place),
        _persistence(facts, told, options.place),
        _memory(facts, options.place),
        _replicas(facts, options),
        examine_window(options.place, options.keep_seconds),
    ]


def _read(info: Any) -> dict[str, str]:
    lines = bytes(info).decode(errors="replace").splitlines()
    return {name: value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}


async def _setting(command: Command, name: str) -> str | None:
    """A setting of the server. None: this user may not ask, or a hosted server does not answer."""
    try:
        _, value = await command("CONFIG", "GET", name)
    except (ConfigurationError, BrokerError, ValueError):
        return None
    return bytes(value).decode(errors="replace")


def _server(facts: Facts) -> Examination:
    name = "Valkey" if "valkey_version" in facts else "Redis"
    version = facts.get("valkey_version") or facts.get("redis_version", "?")
    return Examination(id="server_version", area=Area.STORE, title="server", seen=f"{name} {version}")


def _connection(options: RedisOptions) -> Examination:
    hosts = [host for host, _ in options.hosts]
    findings: list[Finding] = []
    if not options.tls:
        findings += find_unencrypted(options.place, hosts, remedy="Let the server listen by TLS, and write rediss://")
    elif not options.verify:
        evidence = (
            "the server's certificate is not checked (verify=no): another machine on the way can pose as the server"
        )
        remedy = "Take verify=no out of the URL, and name the trusted certificates (ca_file=…)"
        findings.append(Finding("tls_unverified", Severity.WARNING, options.place, evidence, remedy))
    if options.password is None and options.cert_file is None and not all(map(is_local, hosts)):
        evidence = (
            "it lets this process in without a password: any program that reaches it can read and delete every message"
        )
        remedy = "Give the server a user and a password for Tenure (docs/how-to/run-on-redis.md)"
        findings.append(Finding("login_missing", Severity.WARNING, options.place, evidence, remedy))
    way = "by TLS" if options.tls else "without TLS, on this machine" if all(map(is_local, hosts)) else "without TLS"
    return Examination(id="connection", area=Area.STORE, title="connection", seen=way, findings=tuple(findings))


def _eviction(facts: Facts, place: str) -> Examination:
    policy = facts.get("maxmemory_policy")
    if policy is None:
        return Examination(
            id="eviction", area=Area.STORE, title="eviction", unknown="the server does not tell its maxmemory-policy"
        )
    findings = tuple(find_eviction(place, policy))
    return Examination(id="eviction", area=Area.STORE, title="eviction", seen=policy, findings=findings)


def find_eviction(place: str, policy: str) -> list[Finding]:
    """The finding about a server that may drop keys; none if it never does. Also told when a store is opened."""
    if policy == "noeviction":
        return []
    evidence = f"when its memory is full it may drop keys, and messages with them (by {policy})"
    remedy = "Set maxmemory-policy to noeviction"
    return [Finding("eviction_policy", Severity.CRITICAL, place, evidence, remedy)]


def _persistence(facts: Facts, told: Mapping[str, str | None], place: str) -> Examination:
    has_log, save, flush = facts.get("aof_enabled") == "1", told["save"], told["appendfsync"]
    if has_log:
        seen = "append-only file" + (f", appendfsync {flush}" if flush else "")
    else:
        seen = "snapshots are not told" if save is None else f"snapshots ({save})" if save else "nothing is kept"
    findings = tuple(_persistence_findings(facts, place, has_log=has_log, save=save, flush=flush))
    return Examination(id="persistence", area=Area.STORE, title="persistence", seen=seen, findings=findings)


def _persistence_findings(
    facts: Facts, place: str, *, has_log: bool, save: str | None, flush: str | None
) -> Iterator[Finding]:
    turn_on = "Set appendonly to yes and appendfsync to everysec (or always), in redis.conf too"
    replicas = int(facts.get("connected_slaves", "0"))
    if not has_log and not save:
        severity = Severity.WARNING if replicas or save is None else Severity.CRITICAL
        if save is None:
            evidence = "it keeps no append-only file, and does not tell whether it makes snapshots"
        else:
            kept = f"what its {replicas} replicas have" if replicas else "nothing"
            evidence = f"it keeps neither an append-only file nor snapshots: of a restart {kept} is left"
        yield Finding("redis_persistence", severity, place, evidence, turn_on)
    elif not has_log:
        evidence = f"without an append-only file a crash loses all that came after the last snapshot ({save})"
        yield Finding("redis_persistence", Severity.WARNING, place, evidence, turn_on)
    elif flush == "no":
        evidence = "its append-only file is flushed when the system likes (appendfsync no): a power cut may lose 30 s"
        yield Finding("redis_persistence", Severity.WARNING, place, evidence, "Set appendfsync to everysec or always")
    for name in ("rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"):
        if facts.get(name, "ok") != "ok":
            evidence = f"its last write to disk failed ({name}:{facts[name]})"
            yield Finding(
                "redis_disk", Severity.CRITICAL, place, evidence, "Look at the server's log, its disk and its rights"
            )


def _memory(facts: Facts, place: str) -> Examination:
    used, limit = int(facts.get("used_memory", "0")), int(facts.get("maxmemory", "0"))
    if not limit:
        return Examination(
            id="memory", area=Area.STORE, title="memory", seen=f"{used / _MIB:,.0f} MiB used, no limit is set"
        )
    findings: tuple[Finding, ...] = ()
    part = used / limit
    if part >= _MEMORY_WARNING:
        severity = Severity.CRITICAL if part >= _MEMORY_CRITICAL else Severity.WARNING
        evidence = f"{part:.0%} of its maxmemory of {limit / _MIB:,.0f} MiB is used; when it is full, sends are refused"
        remedy = "Raise maxmemory, let workers catch up, or forget finished messages sooner (keep_seconds)"
        findings = (Finding("redis_memory", severity, place, evidence, remedy),)
    return Examination(
        id="memory", area=Area.STORE, title="memory", seen=f"{part:.0%} of {limit / _MIB:,.0f} MiB used",
        findings=findings,
    )  # fmt: skip


def _replicas(facts: Facts, options: RedisOptions) -> Examination:
    replicas = int(facts.get("connected_slaves", "0"))
    findings: tuple[Finding, ...] = ()
    if options.durability == "replicated" and not replicas:
        evidence = "the URL says durability=replicated, and no replica is connected: every send ends as not_replicated"
        remedy = "Connect a replica, or take durability=replicated out of the URL"
        findings = (Finding("replica_missing", Severity.CRITICAL, options.place, evidence, remedy),)
    return Examination(
        id="replicas", area=Area.STORE, title="replicas", seen=f"{replicas} connected, durability={options.durability}",
        findings=findings,
    )  # fmt: skip
