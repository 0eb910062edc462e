"""Clients of the invented store: one with room, one that is full, one that is paused, one without a quota."""

# ruff: noqa: E501 - one row of data a line, however long

from typing import Any

import msgspec
from tests.dashboard.invented_store import NOW

from tenure.client.operations.client_quota import ClientQuota
from tenure.client.operations.clients import ClientDetail, ClientStatus
from tenure.client.operations.forget import ForgetResult
from tenure.notice import Pause
from tenure.server.routes.clients import ClientPage


def clients() -> ClientPage:
    """All of them."""
    rows = (
        _client("acme", 5_000, 0, 8, 0, 96.0, 4.2, 3.9, 0.004, 2_931.0, quota=_quota(waiting=5_000, running=8, rate="100/m", payload_bytes=65_536, waiting_use=1.0, running_use=1.0)),
        _client("default", 12, 3, 2, 1, 1.4, 9.8, 9.8, 0.0, 412.0),
        _client("northwind", 4_310, 120, 5, 7, 41.0, 21.0, 24.0, 0.031, 6_204.0, weight=3.0, quota=_quota(waiting=5_000, waiting_use=0.886, at=None, by="")),
        _client("southhaven", 240, 0, 0, 0, 5_460.0, 0.3, 0.0, None, 0.0, quota=_quota(waiting=5_000, waiting_use=0.048, at=None, by=""), paused=Pause("southhaven-tasks", NOW - 5_400, "ada")),
        _client("zephyr", 0, 0, 0, 0, None, 0.0, 0.1, 0.0, 31.0, quota=_quota(running=2, rate="1/10s", running_use=0.0)),
    )  # fmt: skip
    total = sum(one.work_seconds or 0.0 for one in rows)
    shared = tuple(msgspec.structs.replace(one, work_share=(one.work_seconds or 0.0) / total) for one in rows)
    return ClientPage(clients=shared, window_seconds=3600.0, after=None)


def client(name: str) -> ClientDetail:
    """One of them."""
    (found,) = (one for one in clients().clients if one.client == name)
    return ClientDetail(**{field: getattr(found, field) for field in found.__struct_fields__})


def looked() -> ForgetResult:
    """What there is to forget."""
    return ForgetResult(
        client="acme", queue="acme-tasks", dry_run=True,
        found={"ready": 5_000, "delayed": 0, "leased": 8, "dead": 0}, removed={},
        out_of_reach=("whatever handlers wrote to other services",),
    )  # fmt: skip


def _client(
    name: str, waiting: int, delayed: int, running: int, dead: int, oldest: float | None,
    in_rate: float, out: float, errors: float | None, work: float, **more: Any,
) -> ClientStatus:  # fmt: skip
    return ClientStatus(
        client=name, queue=f"{name}-tasks", waiting=waiting, delayed=delayed, running=running, dead=dead,
        oldest_age_seconds=oldest, in_per_second=in_rate, out_per_second=out, completed=int(out * 3600), died=dead,
        error_share=errors, work_seconds=work, **more,
    )  # fmt: skip


def _quota(*, rate: str | None = None, at: float | None = NOW - 86_400, by: str = "ada", **more: Any) -> ClientQuota:
    return ClientQuota(rate=rate, per_second=None if rate is None else 1.6667, at=at, by=by, **more)
