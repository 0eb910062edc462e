"""The reference of the operations is made from the code, leaves nothing out, and every field says what it is."""

import pytest

from tenure.client.operations import Operate
from tenure.client.operations.operations import Operations

from .api_page import Shown, members
from .docstrings import class_node, doc_of
from .markdown import ROOT
from .operations_page import page, structs, subjects

PAGE = ROOT / "docs" / "reference" / "operations.md"


def test_the_page_of_the_operations_is_made_from_the_code() -> None:
    made = "python -m tests.docs.operations_page > docs/reference/operations.md"
    assert PAGE.read_text(encoding="utf-8") == page(), made


def test_every_subject_and_struct_is_in_the_reference() -> None:
    assert {*subjects()} == {*Operate.__mro__} - {Operations, object}
    names = {one.__name__ for one in structs()}
    assert {"Overview", "MessageDetail", "Step", "DeadGroup", "BulkResult", "Leases", "HeldLease", "Reason"} <= names


@pytest.mark.parametrize("subject", subjects(), ids=lambda one: one.__name__)
def test_every_operation_says_what_it_does(subject: type[object]) -> None:
    assert [one.name for one in members(Shown(subject, "app.operate")) if not doc_of(one)] == []


@pytest.mark.parametrize("struct", structs(), ids=lambda one: one.__name__)
def test_every_struct_says_what_it_is(struct: type[object]) -> None:
    assert doc_of(class_node(struct)[1])
