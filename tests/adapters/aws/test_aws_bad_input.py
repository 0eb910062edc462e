"""What cannot work is told in words, soon, and nothing is lost by it."""

import os
import socket
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.adapters.aws.house import ProxiedHarness
from tests.conformance.aws_harness import DynamoHarness
from tests.servers.proxy_http import HttpProxy

from tenure import Tenure
from tenure.adapters import aws
from tenure.adapters.aws.naming import physical
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadTask, BrokerUnavailable, LoginRefused, PermissionMissing, TenureError
from tenure.lease import LeaseRequest

REGION = "eu-west-1"
#: Far more than it takes, and far less than the minutes that the SDK can take.
SOON_SECONDS = 20.0


async def _open(options: aws.Options) -> None:
    broker, _ = aws.connect(options)
    await broker.open()
    await broker.close()


@pytest.mark.real_time
async def test_without_credentials_a_machine_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The chain ends at the metadata of an instance; where there is none, nothing may answer."""
    options = DynamoHarness()._options
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
        began = SYSTEM_CLOCK.monotonic()
        with pytest.raises(LoginRefused, match="no credentials"):
            await _open(options)
        assert SYSTEM_CLOCK.monotonic() - began < SOON_SECONDS


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        ("ExpiredTokenException", "The security token included in the request is expired", "session .* has expired"),
        ("ExpiredToken", "expired", "log in again"),
        ("RequestTimeTooSkewed", "The difference is too large", "clock is wrong"),
        ("InvalidSignatureException", "Signature expired: 20200101 is now earlier than", "clock is wrong"),
        ("SignatureDoesNotMatch", "Signature not yet current: 2040", "clock is wrong"),
        ("InvalidSignatureException", "The request signature we calculated does not match", "does not take these"),
        ("UnrecognizedClientException", "The security token is invalid", "does not take these"),
    ],
)
async def test_credentials_that_are_not_taken_are_told_with_the_reason(code: str, text: str, words: str) -> None:
    options = DynamoHarness()._options
    with HttpProxy(urlsplit(options.state_endpoint or "").port or 0) as proxy:
        body = b'{"__type":"com.amazon#%s","message":"%s"}' % (code.encode(), text.encode())
        proxy.rule(lambda _: True, proxy.answer(400, body, content_type="application/x-amz-json-1.0"))
        with pytest.raises(LoginRefused, match=words) as raised:
            await _open(msgspec.structs.replace(options, state_endpoint=proxy.url))
        assert "nothing was done" in str(raised.value)


@pytest.mark.parametrize("service", [b"AmazonSQS", b"DynamoDB"])
async def test_what_one_of_the_services_forbids_names_it(service: bytes) -> None:
    async with ProxiedHarness() as house:
        body = b'{"__type":"com.amazon#AccessDeniedException","message":"not authorized to perform it"}'
        house.proxy.rule(
            lambda call: service in call.target,
            house.proxy.answer(400, body, content_type="application/x-amz-json-1.0"),
        )
        with pytest.raises(PermissionMissing, match="not authorized to perform it") as raised:
            await house.send(house.message())
        assert ("SQS" if service == b"AmazonSQS" else "DynamoDB") in str(raised.value).split(":", 1)[0]
        house.proxy.clear()
        await house.put()
        assert len(await house.lease_all(house.stranger())) >= 1


@pytest.mark.real_time
async def test_a_region_that_is_not_known_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name does not resolve, which looks like an outage of ours; so the error says what else it may be."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")

    async def nowhere(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("aiohttp.TCPConnector._resolve_host", nowhere)
    with pytest.raises(BrokerUnavailable, match="no such region: is it spelled right") as raised:
        await _open(aws.Options(region="eu-west-9", timeout_seconds=2.0))
    assert not raised.value.outcome_unknown
    with pytest.raises(BrokerUnavailable) as known:
        await _open(aws.Options(region=REGION, timeout_seconds=2.0))
    assert "spelled right" not in str(known.value)


@pytest.mark.parametrize(
    ("queue", "is_good"),
    [
        ("a" * 80, True), ("a" * 81, False), ("a" * 75 + ".fifo", True), ("a" * 76 + ".fifo", False),
        ("Orders_2-b", True), ("orders.x", False), ("ördersx", False), ("", False), (".fifo", False), ("a b", False),
    ],
)  # fmt: skip
def test_the_names_that_sqs_takes(queue: str, *, is_good: bool) -> None:
    if is_good:
        assert physical("", queue, 0, 1) == queue
    else:
        with pytest.raises(TenureError, match="letters, digits"):
            physical("", queue, 0, 1)


@pytest.mark.real_time
async def test_a_max_hold_over_eleven_and_a_half_hours_refuses_to_start() -> None:
    options = DynamoHarness()._options
    url = (
        f"sqs://{REGION}?endpoint={options.endpoint}&state_endpoint={options.state_endpoint}&create=yes"
        f"&table={options.table}&prefix={options.prefix}"
    )
    app = Tenure(url)

    @app.task(max_hold=11.5 * 3600 + 1)
    async def long() -> None: ...

    async with app:
        worker = app.worker()
        with pytest.raises(BadTask, match=r"max_hold of 'long' is 41401 s; .* longer than 41400 s"):
            await worker.start()
        leases = await app.broker.lease(LeaseRequest("x/1", "r", (app.queue,), 1, 30.0))
        assert leases == []
