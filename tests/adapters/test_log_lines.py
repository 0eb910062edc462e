"""Log lines of the adapters that name a message carry its id, and its correlation where its bytes are at hand."""

import ast
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.conformance.azure_harness import AzureHarness

import tenure
from tenure.envelope import encode, log_fields
from tenure.message import Message
from tenure.settlement import Nack
from tenure.testing.harness import BROKEN

ADAPTERS = Path(tenure.__file__).parent / "adapters"
#: An argument of a line that stands for a message.
_OF_A_MESSAGE = re.compile(r"(^|\.)id$")


def _lines() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(ADAPTERS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("logger."):
                yield f"{path.relative_to(ADAPTERS)}:{node.lineno}", node


def test_every_line_that_names_a_message_has_fields_for_machines() -> None:
    named = {
        where: call
        for where, call in _lines()
        # Findings have an id too; they are no messages.
        if any(_OF_A_MESSAGE.search(ast.unparse(one)) and ast.unparse(one) != "one.id" for one in call.args)
    }
    assert len(named) >= 10, "the lines are looked for in the wrong way"
    without = [where for where, call in named.items() if "extra" not in {word.arg for word in call.keywords}]
    assert not without, "\n".join(without)


def test_the_fields_of_a_message() -> None:
    message = Message(id="m1", queue="q", task="t", body=msgspec.Raw(b"{}"), correlation_id="c-1")
    assert log_fields("m1", encode(message)) == {"message_id": "m1", "correlation_id": "c-1"}
    bare = msgspec.structs.replace(message, correlation_id=None)
    assert log_fields("m1", encode(bare)) == {"message_id": "m1"}
    assert log_fields("m1", b"not ours") == log_fields("m1", None) == {"message_id": "m1"}


@pytest.fixture
def harness() -> AzureHarness:
    """A fresh prefix in virtual time."""
    return AzureHarness()


@pytest.mark.cloud
async def test_a_line_about_a_message_on_azure_carries_its_correlation(
    harness: AzureHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await harness.put(correlation_id="c-1")
    lease = await harness.lease_one(harness.stranger())
    await harness.remove_queue(lease.queue)
    with caplog.at_level(logging.DEBUG, "tenure.azure"):
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    (record,) = [one for one in caplog.records if "removed its queue" in one.getMessage()]
    assert (record.__dict__["message_id"], record.__dict__["correlation_id"]) == (lease.id, "c-1")
