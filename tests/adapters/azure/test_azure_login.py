"""Who we are: keys, identities, and what is said when neither is good. Each mistake is told within seconds."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import HttpProxy

from tenure import Tenure
from tenure.adapters import azure
from tenure.assembly import connect
from tenure.broker import Broker
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadSetting, BadURL, BrokerUnavailable, LoginRefused, MissingExtra, StoreMissing

pytestmark = pytest.mark.real_time


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the environment says who we are."""
    for name in list(os.environ):
        if name.startswith(("AZURE_", "IDENTITY_", "MSI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "")  # nor do the tools that people log in with


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    """Before the queues."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield proxy


def _connect(url: str) -> Broker:
    broker, _ = azure.connect(azure.read_options(url, urlsplit(url), {}), clock=SYSTEM_CLOCK)
    return broker


@pytest.mark.usefixtures("nobody")
async def test_an_account_without_a_key_asks_azure_identity_and_no_credentials_are_told_soon() -> None:
    broker = _connect("azure://acme?timeout_seconds=5")
    async with asyncio.timeout(30):
        with pytest.raises(LoginRefused, match="AZURE_STORAGE_CONNECTION_STRING") as caught:
            await broker.open()
    assert "az login" in str(caught.value)


@pytest.mark.usefixtures("nobody")
async def test_without_azure_identity_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity.aio", None)
    with pytest.raises(MissingExtra, match="pip install azure-identity"):
        await _connect("azure://acme").open()


async def test_an_account_that_does_not_exist_cannot_be_reached() -> None:
    nowhere = "&".join(f"{service}_endpoint=http://127.0.0.1:9" for service in ("queue", "table", "blob"))
    broker = _connect(f"azure://nosuchaccount?key=a2V5&timeout_seconds=3&{nowhere}")
    with pytest.raises(BrokerUnavailable, match="was not sent"):
        await broker.open()


async def test_no_permission_is_told_with_the_roles_that_are_missing(proxy: HttpProxy) -> None:
    url = shared_azure().url(f"t{os.urandom(6).hex()}", queue=proxy.port)
    app = Tenure(url)

    @app.task(queue="mail")
    async def deliver() -> None: ...

    refusal = proxy.answer(403, x_ms_error_code="AuthorizationPermissionMismatch")
    proxy.rule(lambda call: "/messages" in call.path, refusal)
    with pytest.raises(LoginRefused, match="Storage Queue Data Contributor") as caught:
        await deliver.submit()
    assert "AuthorizationPermissionMismatch" in str(caught.value)
    await app.close()


async def test_permission_that_goes_while_we_work_is_an_outage_and_ends_nobody(proxy: HttpProxy) -> None:
    app = Tenure(shared_azure().url(f"t{os.urandom(6).hex()}", queue=proxy.port))

    @app.task(queue="mail")
    async def deliver() -> None: ...

    await deliver.submit()
    refusal = proxy.answer(403, x_ms_error_code="AuthenticationFailed")
    proxy.rule(lambda call: "/messages" in call.path, refusal)
    with pytest.raises(BrokerUnavailable, match="worked before"):
        await deliver.submit()
    proxy.clear()
    await deliver.submit()
    await app.close()


async def test_a_missing_table_or_queue_is_created_only_when_asked() -> None:
    url = shared_azure().url(f"t{os.urandom(6).hex()}").replace("create=yes", "create=no")
    with pytest.raises(StoreMissing, match="create=yes"):
        await _connect(url).open()


async def test_a_queue_against_the_rules_is_refused_before_anything_is_sent() -> None:
    app = Tenure(shared_azure().url(f"t{os.urandom(6).hex()}"))

    @app.task(queue="Not_A_Queue")
    async def deliver() -> None: ...

    with pytest.raises(BadSetting, match="single dashes"):
        await deliver.submit()
    await app.close()


@pytest.mark.parametrize("state", ["nowhere", "s3://bucket", "dynamodb://eu-west-1/jobs"])
def test_a_state_that_nothing_can_be_kept_in_is_refused(state: str) -> None:
    with pytest.raises(BadURL):
        connect(f"azure://acme?key=a2V5&state={state}", clock=SYSTEM_CLOCK)


def test_a_state_in_a_file_is_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    connect("azure://acme?key=a2V5&state=local", clock=SYSTEM_CLOCK)
    assert "of this machine alone" in caplog.text
    assert "tenure-state.db" in caplog.text


async def test_work_is_done_over_a_state_in_a_file_that_a_url_names(tmp_path: Path) -> None:
    app = Tenure(shared_azure().url(f"t{os.urandom(6).hex()}", f"state=sqlite:///{tmp_path}/state.db"))

    @app.task(queue="mail")
    async def add(a: int, b: int) -> int:
        return a + b

    handle = await add.submit(1, 2)
    worker = app.worker()
    await worker.start()
    assert await handle.result(timeout=60) == 3
    await worker.stop()
    assert (tmp_path / "state.db").exists()
    await app.close()
