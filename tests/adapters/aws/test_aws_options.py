"""What a URL may say, what it may not, and how wrong credentials, regions and tables are told."""

import os
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.conformance.aws_harness import DynamoHarness
from tests.servers.proxy_http import HttpProxy

from tenure.adapters import aws
from tenure.adapters.aws.naming import physical
from tenure.assembly import connect
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadURL, BrokerUnavailable, LoginRefused, PermissionMissing, StoreMissing


def _read(url: str) -> aws.Options:
    return aws.read_options(url, urlsplit(url))


def test_a_url_names_the_region_and_the_table_has_a_name_by_itself() -> None:
    options = _read("sqs://eu-west-1")
    assert (options.region, options.table, options.create, options.priorities) == ("eu-west-1", "tenure", False, 1)


def test_options_are_read() -> None:
    options = _read("sqs://eu-west-1?prefix=shop-&create=yes&priorities=3&profile=ops&endpoint=http://localhost:4566/")
    assert (options.prefix, options.create, options.priorities, options.profile) == ("shop-", True, 3, "ops")
    assert options.endpoint == "http://localhost:4566"


@pytest.mark.parametrize(
    ("said", "queue"), [("shop", "shop-orders"), ("shop-", "shop-orders"), ("shop_", "shop_orders")]
)
def test_a_prefix_stands_apart_from_the_name_of_its_queue(said: str, queue: str) -> None:
    options = _read(f"sqs://eu-west-1?prefix={said}")
    assert physical(options.prefix, "orders", 0, 1) == queue


def test_the_state_may_be_in_another_region_and_table() -> None:
    options = _read("sqs://eu-west-1?state=dynamodb://eu-north-1/jobs")
    assert (options.state_region, options.table) == ("eu-north-1", "jobs")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqs://", "names no region"),
        ("sqs://Frankfurt", "names no region"),
        ("sqs://eu-west-1/orders", "belongs to its task"),
        ("sqs://eu-west-1?priorities=4", "1, 2 or 3"),
        ("sqs://eu-west-1?create=maybe", "yes or no"),
        ("sqs://eu-west-1?prefix=a.b", "letters, digits"),
        ("sqs://eu-west-1?endpoint=localhost", "the URL of a server"),
        ("sqs://eu-west-1?state=dynamodb://nowhere/t", "dynamodb://region/table"),
        ("sqs://eu-west-1?account=12", "12 digits"),
        ("sqs://eu-west-1?colour=red", "is not an option"),
        ("sqs://eu-west-1?body_limit=12", "1024 to 1048576"),
        ("sqs://eu-west-1?keep_seconds=-1", "above 0"),
        ("sqs://eu-west-1?redrive_policy=yes", "refuse or accept"),
    ],
)
def test_what_cannot_be_meant_is_told(url: str, words: str) -> None:
    with pytest.raises(BadURL, match=words):
        connect(url, clock=SYSTEM_CLOCK)


async def _open(options: aws.Options) -> None:
    broker, _ = aws.connect(options)
    await broker.open()
    await broker.close()


@pytest.mark.real_time
async def test_without_credentials_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    options = DynamoHarness()._options
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(LoginRefused, match="no credentials"):
        await _open(options)


@pytest.mark.real_time
async def test_a_profile_that_is_not_there_is_told() -> None:
    with pytest.raises(LoginRefused, match="profile"):
        await _open(msgspec.structs.replace(DynamoHarness()._options, profile="nobody-has-this"))


@pytest.mark.real_time
async def test_a_server_that_is_not_there_is_away() -> None:
    options = msgspec.structs.replace(
        DynamoHarness()._options, state_endpoint="http://127.0.0.1:9", timeout_seconds=2.0
    )
    with pytest.raises(BrokerUnavailable) as raised:
        await _open(options)
    assert not raised.value.outcome_unknown


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("code", "error"),
    [("AccessDeniedException", PermissionMissing), ("UnrecognizedClientException", LoginRefused)],
)
async def test_what_the_service_forbids_is_told(code: str, error: type[Exception]) -> None:
    options = DynamoHarness()._options
    with HttpProxy(urlsplit(options.state_endpoint or "").port or 0) as proxy:
        body = b'{"__type":"com.amazon#%s","message":"you may not"}' % code.encode()
        proxy.rule(lambda _: True, proxy.answer(400, body, content_type="application/x-amz-json-1.0"))
        with pytest.raises(error, match="nothing was done"):
            await _open(msgspec.structs.replace(options, state_endpoint=proxy.url))


@pytest.mark.real_time
async def test_a_table_that_is_missing_is_made_only_when_asked() -> None:
    options = DynamoHarness()._options
    with pytest.raises(StoreMissing, match="create=yes"):
        await _open(msgspec.structs.replace(options, create=False))
    await _open(options)
    await _open(msgspec.structs.replace(options, create=False))


@pytest.mark.real_time
async def test_a_table_that_would_never_forget_is_told(caplog: pytest.LogCaptureFixture) -> None:
    harness = DynamoHarness()
    options = harness._options
    await _open(options)
    await _open(options)
    assert "never forgets" not in caplog.text
    harness._dynamo().update_time_to_live(
        TableName=options.table, TimeToLiveSpecification={"Enabled": False, "AttributeName": "forget"}
    )
    await _open(options)
    assert "enable it on the attribute 'forget'" in caplog.text


@pytest.mark.real_time
async def test_a_table_of_somebody_else_is_left_alone() -> None:
    harness = DynamoHarness()
    options = harness._options
    client: Any = harness._dynamo()
    client.create_table(
        TableName=options.table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    with pytest.raises(StoreMissing, match="is not Tenure's"):
        await _open(options)
