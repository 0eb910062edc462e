"""Mistakes of access, webhooks and settings: tokens, endpoints, addresses, misspelt variables."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tenure import Tenure
from tenure.client.operations.doctor.diagnosis import Diagnosis, Outcome
from tenure.config import Settings
from tenure.finding import Finding, Severity
from tenure.server.principal import ALL_SCOPES, AccessScope
from tenure.server.tokens import Tokens
from tenure.testing.virtual import VirtualClock
from tenure.webhooks.breaker import Health
from tenure.webhooks.lane import lane_of

from .setups import SETTINGS, app_at, of_set_up, only, working

DAY = 86_400.0
_URL = "https://hooks.example.com/orders"


async def _with_token(
    clock: VirtualClock, scopes: Sequence[AccessScope], queues: Sequence[str], seconds: float | None
) -> list[Finding]:
    async with working(app_at("memory://", clock=clock)) as app:
        await Tokens(app).create("ci", scopes, queues, expires_seconds=seconds)
        return of_set_up(await app.operate.doctor())


@pytest.mark.parametrize(
    ("scopes", "seconds", "ids"),
    [
        (["read"], 30 * DAY, []),
        (["read"], 6 * DAY, ["token_expiring"]),
        (["read"], None, ["token_never_expires"]),
        (sorted(ALL_SCOPES), 30 * DAY, ["token_all_powerful"]),
        (sorted(ALL_SCOPES), None, ["token_all_powerful", "token_never_expires"]),
    ],
)
async def test_tokens(scopes: list[str], seconds: float | None, ids: list[str], virtual_clock: VirtualClock) -> None:
    found = await _with_token(virtual_clock, [AccessScope(one) for one in scopes], ["*"], seconds)
    assert [one.id for one in found] == ids
    assert all(one.subject.startswith("token ci (") and "tenure token" in one.remedy for one in found[1:])


async def test_an_unused_token_is_a_hint(virtual_clock: VirtualClock) -> None:
    app = app_at("memory://", clock=virtual_clock)
    async with app:
        await Tokens(app).create("ci", [AccessScope.READ], expires_seconds=400 * DAY)
        await asyncio.sleep(91 * DAY)
        async with app.worker():
            found = only(await app.operate.doctor())
    assert (found.id, found.severity) == ("token_unused", Severity.INFO)


def _hooked(clock: VirtualClock, **settings: object) -> Tenure:
    return app_at("memory://", msgspec.structs.replace(SETTINGS, secret_key="k" * 32, **settings), clock)


async def _with_endpoint(clock: VirtualClock, url: str, *, disable: bool = False) -> Diagnosis:
    async with working(_hooked(clock, webhook_allow=("hooks.example.com",))) as app:
        await app.operate.add_endpoint("orders", url)
        if disable:
            await app.operate.disable_endpoint("orders", "the shop is closed")
        return await app.operate.doctor()


async def test_an_endpoint_that_is_sound(virtual_clock: VirtualClock) -> None:
    assert of_set_up(await _with_endpoint(virtual_clock, _URL)) == []


async def test_an_endpoint_without_tls(virtual_clock: VirtualClock) -> None:
    found = only(await _with_endpoint(virtual_clock, "http://hooks.example.com/orders"))
    assert (found.id, found.subject) == ("webhook_not_encrypted", "endpoint orders")


async def test_a_disabled_endpoint(virtual_clock: VirtualClock) -> None:
    found = only(await _with_endpoint(virtual_clock, _URL, disable=True))
    assert (found.id, found.severity) == ("webhook_disabled", Severity.WARNING)
    assert "the shop is closed" in found.evidence


async def test_an_endpoint_that_rests(virtual_clock: VirtualClock) -> None:
    """As workers keep it after failures in a row."""
    async with working(_hooked(virtual_clock)) as app:
        await app.operate.add_endpoint("orders", _URL)
        wall = app.state.wall()
        kept = Health(failures=7, since=wall - 60, rests_until=wall + 600, rests=1, status=503, error="HTTP 503")
        await app.operate.access.client.webhooks.health.change(lane_of("orders", None), lambda _: kept)
        found = only(await app.operate.doctor())
    assert (found.id, found.severity) == ("webhook_failing", Severity.WARNING)
    assert found.evidence == "7 failures in a row, so it rests: HTTP 503"


async def test_an_ending_that_waits_for_its_webhook(virtual_clock: VirtualClock) -> None:
    """Its endpoint is disabled, so it waits; after an hour that is a finding of its own."""
    async with working(_hooked(virtual_clock)) as app:
        await app.operate.add_endpoint("orders", _URL)
        await app.operate.disable_endpoint("orders")
        await (await app.submit(app.tasks["nap"].bind(), webhook="orders")).result()
        await asyncio.sleep(3700)
        found = {one.id: one for one in of_set_up(await app.operate.doctor())}
    assert "1 ending waited for more than an hour" in found["endings_untold"].evidence


async def test_a_name_that_leads_to_no_endpoint(virtual_clock: VirtualClock) -> None:
    app = _hooked(virtual_clock, alert_webhook="pager")
    async with working(app):
        found = only(await app.operate.doctor())
    assert (found.id, found.subject) == ("webhook_unknown", "TENURE_ALERT_WEBHOOK")


async def test_webhooks_that_may_call_everything(virtual_clock: VirtualClock) -> None:
    async with working(_hooked(virtual_clock, webhook_allow=("0.0.0.0/0",))) as app:
        found = only(await app.operate.doctor())
    assert (found.id, found.severity) == ("webhook_allow_everything", Severity.CRITICAL)


async def test_a_public_address_without_tls(virtual_clock: VirtualClock) -> None:
    for url, ids in (("http://tenure.example.com", ["tls_off"]), ("http://127.0.0.1:8383", []), (_URL, [])):
        async with working(_hooked(virtual_clock, public_url=url)) as app:
            assert [one.id for one in of_set_up(await app.operate.doctor())] == ids


async def test_metrics_that_no_worker_would_serve(virtual_clock: VirtualClock) -> None:
    """Told by the doctor of a process that is no worker: one with these settings does not start."""
    async with _hooked(virtual_clock, metrics="0.0.0.0:9100") as app:
        found = {one.id: one.severity for one in of_set_up(await app.operate.doctor())}
    assert found["metrics_refused"] is Severity.CRITICAL


async def test_a_misspelt_variable(virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_MAX_ATEMPTS", "5")
    monkeypatch.setenv("TENURE_SHOP_COLOUR", "blue")  # like no setting: somebody's own
    async with working(app_at("memory://", clock=virtual_clock)) as app:
        found = only(await app.operate.doctor())
    assert (found.id, found.subject) == ("setting_misspelt", "TENURE_MAX_ATEMPTS")
    assert found.remedy == "Write TENURE_MAX_ATTEMPTS, or take the variable away"


@pytest.mark.real_time
async def test_a_place_of_large_bodies_that_is_not_there(tmp_path: Path) -> None:
    settings = Settings(claim_check=f"file://{tmp_path}/bodies?create=no")
    app = app_at(f"sqlite:///{tmp_path}/jobs.db", settings)
    async with app:  # no worker starts with it
        missing = {one.id: one for one in of_set_up(await app.operate.doctor())}
        (tmp_path / "bodies").mkdir()
        async with app.worker():
            assert of_set_up(await app.operate.doctor()) == []
    assert missing["bodies_unreachable"].severity is Severity.CRITICAL


async def test_who_sees_some_queues_is_told_of_these_alone(virtual_clock: VirtualClock) -> None:
    app = _hooked(virtual_clock, public_url="http://tenure.example.com")
    async with app:
        await Tokens(app).create("ci", sorted(ALL_SCOPES))
        found = await app.operate.bound(by="acme", queues=["acme-*"]).doctor()
    assert {one.id for one in found.checks}.isdisjoint({"tokens", "endpoints", "settings"})
    assert {one.id for one in found.findings} == {"no_worker", "sweep_missing"}


async def test_a_check_that_hangs_hides_nothing(virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(app_at("memory://", clock=virtual_clock)) as app:

        async def hang(_queues: object) -> None:
            await asyncio.sleep(3600)

        monkeypatch.setattr(app.broker, "check", hang)
        found = await app.operate.doctor(timeout_seconds=5)
    assert [(one.id, one.seen) for one in found.checks if one.outcome is Outcome.FAILED] == [
        ("store", "no answer within 5 s")
    ]
    assert (found.healthy, found.findings, len(found.checks) > 5) == (False, (), True)
