"""What the pages about SQS and Azure say, and no block of them shows: compared with the code and the prices."""

import json
import logging
import re

import pytest

from tenure.adapters.aws.redrive_policy import LEAST_RECEIVES
from tenure.adapters.azure.log import CONTAINER, KEPT_DAYS
from tenure.adapters.azure.traits import TRAITS
from tenure.cli import logs
from tenure.simulation import prices

from .markdown import ROOT

HOW_TO = ROOT / "docs" / "how-to"
SQS = (HOW_TO / "run-on-sqs.md").read_text(encoding="utf-8")
AZURE = (HOW_TO / "run-on-azure.md").read_text(encoding="utf-8")

#: The right for an operation, where it is not called as the operation is.
_RIGHTS = {
    "SendMessageBatch": {"SendMessage"},
    "DeleteMessageBatch": {"DeleteMessage"},
    "ChangeMessageVisibilityBatch": {"ChangeMessageVisibility"},
    "BatchExecuteStatement": {"PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"},
}
_MAKING = {"CreateQueue", "CreateTable", "UpdateTimeToLive"}


def _operations() -> set[str]:
    """What the adapter asks of the services, found where it asks."""
    files = (ROOT / "src" / "tenure" / "adapters" / "aws").glob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    found = re.findall(r'(?:_call|_call_at|_batch|_tell)\(\s*(?:physical, )?"([a-z]+(?:_[a-z]+)*)"', text)
    return {"".join(word.title() for word in name.split("_")) for name in found}


def test_the_policy_of_the_page_has_the_rights_that_the_code_needs() -> None:
    found = re.search(r'```text\n(\{"Version".*?)\n```', SQS, re.DOTALL)
    assert found is not None
    policy = json.loads(found[1])
    named = {action.partition(":")[2] for statement in policy["Statement"] for action in statement["Action"]}
    operations = _operations()
    assert {"ReceiveMessage", "BatchExecuteStatement", "CreateTable"} <= operations
    needed: set[str] = set()
    for operation in operations - _MAKING:
        needed |= _RIGHTS.get(operation, {operation})
    assert named == needed
    assert all(f':{right}"' in SQS for right in _MAKING)


def test_the_numbers_of_the_page_about_sqs_are_those_of_the_code() -> None:
    assert f"below {LEAST_RECEIVES} receives" in SQS
    assert f"us-east-1, {prices.AS_OF}" in SQS
    cost = prices.dollars({"SendMessageBatch": 0.1, "ReceiveMessage": 0.1, "DeleteMessageBatch": 0.1}, prices.SQS) * 1e6
    assert f"| {cost:.2f} (FIFO " in SQS
    units = re.search(r"([\d.]+) write units and ([\d.]+) read units \| ([\d.]+) \|", SQS)
    assert units is not None
    state = prices.dollars({"write units": float(units[1]), "read units": float(units[2])}, prices.DYNAMO) * 1e6
    assert f"{state:.2f}" == units[3]


def test_the_numbers_of_the_page_about_azure_are_those_of_the_code() -> None:
    assert f"{prices.AZURE_QUEUE.dollars} dollars for 10,000 queue operations, {prices.AZURE_TABLE.dollars}" in AZURE
    assert f"general purpose v2, {prices.AS_OF}" in AZURE
    cost = prices.dollars({"Put Message": 1.0, "Delete Message": 1.0, "Get Messages": 1 / 32}, prices.QUEUES) * 1e6
    assert f"| {cost:.2f} |" in AZURE
    assert f"`{CONTAINER}/orders/" in AZURE
    assert KEPT_DAYS == 7
    assert f"up to {TRAITS.body_limit:,} bytes" in AZURE


@pytest.mark.parametrize("sdk", ["azure", "botocore", "aiobotocore"])
def test_the_lines_of_the_sdks_do_not_drown_those_of_a_worker(sdk: str) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        logs.install("text", verbose=False)
        assert not logging.getLogger(f"{sdk}.core.some.policy").isEnabledFor(logging.INFO)
        assert logging.getLogger(f"{sdk}.core.some.policy").isEnabledFor(logging.WARNING)
        assert logging.getLogger("tenure.worker").isEnabledFor(logging.INFO)
    finally:
        root.handlers[:], root.level = before
