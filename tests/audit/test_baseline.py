"""The baseline: every queue operation, its timeout, and the lease that would fit."""

import pytest

from tenure.audit import Operation, audit_source

HEAD = "import os\nimport boto3\nfrom azure.storage.queue import QueueClient\nsqs = boto3.client('sqs')\n"


def _rows(text: str, path: str = "worker.py") -> list[Operation]:
    return audit_source((HEAD + text).encode(), path).operations


@pytest.mark.parametrize(
    ("words", "seconds", "said"),
    [
        ("", None, "default"),
        ("VisibilityTimeout=600", 600, "600 s"),
        ("VisibilityTimeout=10 * 60", 600, "600 s"),
        ("VisibilityTimeout=T", 90, "90 s"),
        ("VisibilityTimeout=int('90')", 90, "90 s"),
        ("VisibilityTimeout=int(os.environ['T'])", None, "int(os.environ['T'])"),
        ("**words", None, "not known"),
        ("**{'VisibilityTimeout': 5}", 5, "5 s"),
    ],
)
def test_a_receive_is_told_with_its_timeout(words: str, seconds: float | None, said: str) -> None:
    (row,) = _rows(f"T = 90\ndef f(words):\n    sqs.receive_message(QueueUrl='u', {words})\n")
    assert (row.kind, row.vendor, row.timeout_seconds, row.timeout) == ("receive", "sqs", seconds, said)
    assert (row.call, row.line) == ("sqs.receive_message", 7)


@pytest.mark.parametrize(
    ("text", "kind", "vendor"),
    [
        ("boto3.Session().client('sqs').send_message(QueueUrl='u')", "send", "sqs"),
        ("boto3.client(service_name='sqs').delete_message(QueueUrl='u')", "delete", "sqs"),
        ("boto3.resource('sqs').Queue('u').receive_messages()", "receive", "sqs"),
        ("sqs.change_message_visibility(QueueUrl='u', VisibilityTimeout=5)", "extend", "sqs"),
        ("QueueClient('u', 'n').update_message(m, visibility_timeout=5)", "extend", "azure"),
        ("QueueClient.from_connection_string('c', 'n').delete_message(m)", "delete", "azure"),
        ("def f(q: QueueClient): q.receive_message()", "receive", "azure"),
        ("def f(q: 'QueueClient | None' = None): q.send_message('x')", "send", "azure"),
        ("def f(x): x.receive_message(QueueUrl='u')", "receive", "sqs"),
        ("def f(x): x.update_message(m, visibility_timeout=3)", "extend", "azure"),
        ("def make(): return sqs\nmake().delete_message(QueueUrl='u', ReceiptHandle='r')", "delete", "sqs"),
        ("r.xack('a', 'b', 'c')", "delete", "redis"),
        ("with boto3.client('sqs') as c: c.delete_message_batch(QueueUrl='u')", "delete", "sqs"),
        ("class W:\n def __init__(self): self.c = sqs\n def f(self): self.c.send_message(QueueUrl='u')", "send", "sqs"),
    ],
)
def test_a_client_is_known_by_how_it_was_made_by_its_type_or_by_its_words(text: str, kind: str, vendor: str) -> None:
    assert [(row.kind, row.vendor) for row in _rows(text)] == [(kind, vendor)]


@pytest.mark.parametrize(
    "text",
    [
        "asyncio.to_thread(sqs.receive_message, QueueUrl='u', VisibilityTimeout=60)",
        "loop.run_in_executor(None, partial(sqs.receive_message, QueueUrl='u', VisibilityTimeout=60))",
        "loop.run_in_executor(None, lambda: sqs.receive_message(QueueUrl='u', VisibilityTimeout=60))",
        "anyio.to_thread.run_sync(partial(sqs.receive_message, 'u', VisibilityTimeout=60))",
        "pool.submit(sqs.receive_message, QueueUrl='u', VisibilityTimeout=60)",
        "get = partial(sqs.receive_message, QueueUrl='u'); get(VisibilityTimeout=60)",
        "get = sqs.receive_message; get(QueueUrl='u', VisibilityTimeout=60)",
    ],
)
def test_a_call_that_others_make_is_told_once_with_its_words(text: str) -> None:
    (row,) = _rows(text)
    assert (row.kind, row.call, row.timeout_seconds, row.line) == ("receive", "sqs.receive_message", 60, 5)


@pytest.mark.parametrize(
    "text",
    [
        "get = partial(sqs.receive_message, QueueUrl='u')",  # which nobody calls
        "get = partial(get, get); get()",
        "asyncio.to_thread()\nasyncio.to_thread(*a)\npool.submit(work, sqs.receive_message)",
        "get = sqs.receive_message\nget = other\nget(QueueUrl='u')",
    ],
)
def test_what_is_not_sure_to_be_called_is_not_told(text: str) -> None:
    assert _rows(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "bot.delete_message(chat_id=1, message_id=2)",
        "boto3.client('s3').delete_message(x=1)",
        "receiver.receive_messages(max_message_count=5)",
        "self.delete_message(x)",
        "inbox.receive_message()",
        "delete_message(1)",
    ],
)
def test_what_only_has_the_name_is_no_queue(text: str) -> None:
    assert _rows(text) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("name = os.getenv('CONTAINER_NAME', 'content-processor')\n", "a.py"),
        ("CONTAINER_NAME = 'content-processor'\n", "a.py"),
        ("", "containers/content-processor/queue_processor.py"),
        ("", "services/content_processor.py"),
        ("calculate_visibility_timeout('content-processor')\n", "a.py"),
    ],
)
def test_a_service_is_recognised_and_advised_by_its_profile(text: str, path: str) -> None:
    (one, ten) = _rows(
        f"{text}sqs.receive_message(QueueUrl='u')\nsqs.receive_message(QueueUrl='u', MaxNumberOfMessages=10)\n", path
    )
    assert one.service == ten.service == "content-processor"
    assert one.recommendation.startswith("90 s (content-processor)")
    assert ten.recommendation.startswith("810 s for 10 in a row")


def test_without_a_service_the_advice_is_to_hold_or_to_measure() -> None:
    (row,) = _rows("sqs.receive_message(QueueUrl='u')\n", "web/app.py")
    assert row.service is None
    assert "VisibilityHeartbeat" in row.recommendation
    assert "calculate_visibility_timeout" in row.recommendation


def test_what_is_right_is_left_as_it_is() -> None:
    rows = _rows(
        "from tenure.standalone.sync import VisibilityHeartbeat, delete_message_with_retry\n"
        "m = sqs.receive_message(QueueUrl='u', VisibilityTimeout=30)\n"
        "delete_message_with_retry(sqs, m)\n"
        "sqs.change_message_visibility(QueueUrl='u', VisibilityTimeout=0)\n"
    )
    assert [row.recommendation for row in rows] == [
        "30 s, held by the heartbeat",
        "as it is",
        "as it is: gives the message back",
    ]
