"""Mistakes planted in the stand-ins for SQS and Azure Storage."""

import json
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import boto3  # type: ignore[import-untyped]
import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import ACCOUNT, shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure import Tenure
from tenure.adapters.aws import examination as aws_examination
from tenure.adapters.aws.options import Options as AwsOptions
from tenure.adapters.aws.session import Session as AwsSession
from tenure.adapters.azure import examination as azure_examination
from tenure.adapters.azure.examination import _signature
from tenure.adapters.azure.options import Options
from tenure.client.operations.doctor.diagnosis import Diagnosis
from tenure.clock import SYSTEM_CLOCK
from tenure.finding import Severity

from .setups import UNSWEPT, diagnosed, of_set_up, only

pytestmark = pytest.mark.real_time

_DENIED = {"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not authorized to perform"}


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return f"d{os.urandom(6).hex()}"


@pytest.fixture
def sqs(name: str) -> Iterator[Any]:
    client = boto3.client("sqs", endpoint_url=shared_aws("ministack").url, region_name="eu-west-1")
    yield client
    client.close()


def _url(name: str, *options: str, endpoint: str | None = None) -> str:
    where = shared_aws("ministack").url if endpoint is None else endpoint
    return f"sqs://eu-west-1?endpoint={where}&" + "&".join([f"prefix={name}", f"table={name}", "create=yes", *options])


async def _without_worker(url: str) -> Diagnosis:
    """A worker would not start there."""
    app = Tenure(url, settings=UNSWEPT)

    @app.task(queue="slow")
    async def nap() -> None: ...

    async with app:
        return await app.operate.doctor()


def _policy(sqs: Any, name: str, receives: int, target: str) -> None:
    url = sqs.create_queue(QueueName=f"{name}-slow")["QueueUrl"]
    arn = f"arn:aws:sqs:eu-west-1:000000000000:{target}"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": str(receives)})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})


async def test_a_queue_that_moves_messages_away_after_three_receives(name: str, sqs: Any) -> None:
    sqs.create_queue(QueueName=f"{name}-dead")
    _policy(sqs, name, 3, f"{name}-dead")
    found = {one.id: one for one in of_set_up(await _without_worker(_url(name)))}
    assert found["redrive_too_soon"].severity is Severity.CRITICAL
    assert found["redrive_too_soon"].evidence.startswith("after 3 receives")
    accepted = only(await diagnosed(_url(name, "redrive_policy=accept")))
    assert (accepted.id, accepted.severity) == ("redrive_policy", Severity.WARNING)


async def test_a_policy_that_leads_nowhere(name: str, sqs: Any) -> None:
    dead = sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
    _policy(sqs, name, 500, f"{name}-dead")
    sqs.delete_queue(QueueUrl=dead)
    found = {one.id for one in of_set_up(await diagnosed(_url(name)))}
    assert found == {"redrive_policy", "redrive_target_missing"}


async def test_a_queue_that_is_not_there_and_is_not_to_be_made(name: str) -> None:
    await diagnosed(_url(name))
    app = Tenure(_url(name).replace("&create=yes", ""), settings=UNSWEPT)

    @app.task(queue="swol")
    async def nap() -> None: ...

    async with app:
        found = {one.id: one for one in of_set_up(await app.operate.doctor())}
    assert found["queue_missing"].severity is Severity.CRITICAL
    assert found["queue_missing"].subject == "queue swol"


@pytest.mark.parametrize("operation", ["DeleteMessage", "ChangeMessageVisibility", "SendMessageBatch"])
async def test_credentials_that_may_not_do_what_a_worker_does(name: str, operation: str) -> None:
    def asks(call: Call) -> bool:
        return call.target.endswith(b"." + operation.encode())

    with HttpProxy(shared_aws("ministack").port) as proxy:
        await diagnosed(_url(name))
        proxy.rule(asks, proxy.answer(400, json.dumps(_DENIED).encode()))
        found = {one.id: one for one in of_set_up(await _without_worker(_url(name, endpoint=proxy.url)))}
    words = {"DeleteMessage": "delete_message", "ChangeMessageVisibility": "change_message_visibility"}
    assert found["permission_missing"].severity is Severity.CRITICAL
    assert words.get(operation, "send_message_batch") in found["permission_missing"].evidence


async def test_a_ledger_that_forgets_before_the_queue_does(name: str) -> None:
    found = only(await diagnosed(_url(name, "keep_seconds=86400")))
    assert (found.id, found.severity) == ("ledger_window_short", Severity.WARNING)
    assert "1 day" in found.evidence
    assert "14 days" in found.evidence


async def test_a_table_that_grows_for_ever(name: str) -> None:
    dynamo = boto3.client("dynamodb", endpoint_url=shared_aws("ministack").url, region_name="eu-west-1")
    keys = (("part", "HASH"), ("sort", "RANGE"))
    dynamo.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key, _ in keys],
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys],
    )  # fmt: skip
    dynamo.close()
    assert only(await diagnosed(_url(name))).id == "table_grows"


async def test_doctor_makes_no_queue_and_counts_no_delivery(name: str, sqs: Any) -> None:
    url = sqs.create_queue(QueueName=f"{name}-other")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    app = Tenure(_url(name), settings=UNSWEPT)

    @app.task(queue="other")
    async def one() -> None: ...

    @app.task(queue="slow")
    async def two() -> None: ...

    async with app:
        await app.operate.doctor()
    there = sqs.list_queues(QueueNamePrefix=name)["QueueUrls"]
    (message,) = sqs.receive_message(QueueUrl=url, AttributeNames=["ApproximateReceiveCount"])["Messages"]
    assert [one.rpartition("/")[2] for one in there] == [f"{name}-other"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


async def test_an_azure_queue_that_is_not_there_and_is_not_to_be_made(name: str) -> None:
    url = shared_azure().url(name)
    await diagnosed(url)
    app = Tenure(url.replace("&create=yes", ""), settings=UNSWEPT)

    @app.task(queue="swol")
    async def nap() -> None: ...

    async with app:
        found = {one.id: one for one in of_set_up(await app.operate.doctor())}
    assert found["queue_missing"].subject == "queue swol"


async def test_an_azure_identity_that_may_not_delete(name: str) -> None:
    body = b'<?xml version="1.0"?><Error><Code>AuthorizationPermissionMismatch</Code><Message>no</Message></Error>'

    def deletes(call: Call) -> bool:
        return call.method == "DELETE" and b"/messages/" in call.target

    await diagnosed(shared_azure().url(name))
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        proxy.rule(deletes, proxy.answer(403, body, **{"Content-Type": "application/xml"}))
        found = {one.id: one for one in of_set_up(await _without_worker(shared_azure().url(name, queue=proxy.port)))}
    assert found["permission_missing"].severity is Severity.CRITICAL
    assert "delete" in found["permission_missing"].evidence


@pytest.mark.parametrize(
    ("end", "severity"),
    [("1970-01-01T12:00:00Z", Severity.CRITICAL), ("1970-01-08T00:00:00Z", Severity.WARNING), ("2030-01-01", None)],
)
def test_a_signature_that_ends_soon(end: str, severity: Severity | None) -> None:
    """Azurite takes the account's key alone, so this is asked of the options that the adapter has read."""
    place: Callable[[str], str] = "https://{}.example.com".format
    options = Options(
        account=ACCOUNT, sas=f"sv=2024-11-04&se={quote(end)}&sig=x", queue_endpoint=place("q"),
        table_endpoint=place("t"), blob_endpoint=place("b"),
    )  # fmt: skip
    assert [one.severity for one in _signature(options, 0.0).findings] == ([] if severity is None else [severity])


@pytest.mark.parametrize("vendor", ["sqs", "azure"])
def test_an_endpoint_beyond_this_machine_without_tls(vendor: str) -> None:
    """The stand-ins are here; the name is another machine's, so nothing is asked."""
    if vendor == "sqs":
        aws_options = AwsOptions(region="eu-west-1", endpoint="http://sqs.example.com:4566")
        (found,) = aws_examination._connection(AwsSession(aws_options, SYSTEM_CLOCK)).findings
    else:
        ends: dict[str, Any] = {f"{name}_endpoint": f"http://{name}.example.com" for name in ("queue", "table", "blob")}
        (found,) = azure_examination._connection(Options(account=ACCOUNT, **ends)).findings
    assert (found.id, found.severity) == ("tls_off", Severity.WARNING)
    assert "example.com" in found.evidence


@pytest.mark.parametrize("cloud", [aws_examination, azure_examination], ids=["sqs", "azure"])
def test_a_missing_queue_is_named_where_another_does_not_answer(cloud: Any) -> None:
    reached = SimpleNamespace(options=SimpleNamespace(create=False))
    looked = [cloud._Looked(queue="a", is_missing=True), cloud._Looked(queue="b", trouble="no answer")]
    assert [one.subject for one in cloud._presence(reached, looked).findings] == ["queue a"]
    assert cloud._presence(reached, looked[1:]).unknown == "no answer"
