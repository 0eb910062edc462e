"""What a finding says to do does not break the code that it is said to."""

import pytest

from tenure.audit import audit_source

_RECEIVE = """
import boto3, aiobotocore
{kind} run({client}, url, work):
    answer = {wait}{client}.receive_message(QueueUrl=url, VisibilityTimeout=600, WaitTimeSeconds=20)
    for message in answer["Messages"]:
        {wait}work(message)
        {wait}{client}.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""
_STREAM = """
import redis
client = redis.Redis()
def run(work):
    client.xautoclaim("a", "b", "c", 60_000)
    for _, entries in client.xreadgroup("b", "c", {"a": ">"}, block=1000):
        for id, fields in entries:
            client.xack("a", "b", id)
            work(fields)
"""


@pytest.mark.parametrize(
    ("kind", "wait", "where"),
    [("def", "", "(In tenure.standalone.sync.)"), ("async def", "await ", "(In tenure.standalone, awaited.)")],
)
def test_a_piece_is_named_from_where_its_call_works(kind: str, wait: str, where: str) -> None:
    source = _RECEIVE.format(kind=kind, wait=wait, client="sqs").encode()
    (finding,) = [one.finding for one in audit_source(source, "worker.py").findings]
    assert finding.id == "TQ101"
    assert finding.remedy.endswith(where)


def test_a_stream_is_told_of_its_own_calls() -> None:
    (finding,) = [one.finding for one in audit_source(_STREAM.encode(), "worker.py").findings]
    assert finding.id == "TQ203"
    assert "xack" in finding.remedy
    assert "delete_message" not in finding.remedy
