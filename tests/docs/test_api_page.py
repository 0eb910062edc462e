"""The reference of the Python API is made from the code, and leaves nothing out."""

import inspect
import re

import pytest

import tenure
from tenure import testing
from tenure.errors import TenureError

from .api_page import SHOWN, Shown, attributes, members, page
from .docstrings import doc_of
from .markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "api.md"
#: Public names that have a page of their own, or are no classes.
ELSEWHERE = {
    "BatchContext", "Context", "SyncContext", "MessageState", "GroupState", "MemberState", "KitError", "__version__",
}  # fmt: skip


def test_the_page_of_the_python_api_is_made_from_the_docstrings() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.docs.api_page > docs/reference/api.md"


def test_every_public_name_is_in_the_reference() -> None:
    errors = {name for name in tenure.__all__ if isinstance(getattr(tenure, name), type)}
    errors = {name for name in errors if issubclass(getattr(tenure, name), TenureError)}
    shown = {one.kind.__name__ for one in SHOWN} - {"Worker"}
    assert shown == {*tenure.__all__, *testing.__all__} - errors - ELSEWHERE
    assert all(f"`{name}`" in (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8") for name in errors)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.kind.__name__)
def test_every_public_member_says_what_it_is(shown: Shown) -> None:
    silent = [name for name, text in attributes(shown).items() if not text]
    silent += [one.name for one in members(shown) if not doc_of(one)]
    assert silent == [], "a docstring, or a `#:` comment above it"


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.kind.__name__)
def test_what_is_internal_is_still_there(shown: Shown) -> None:
    known = {*dir(shown.kind), *re.findall(r"self\.(\w+)\b", _source(shown)), *_fields(shown)}
    assert shown.internal <= known


def _source(shown: Shown) -> str:
    return "".join(inspect.getsource(kind) for kind in (*shown.bases, shown.kind))


def _fields(shown: Shown) -> list[str]:
    return [*getattr(shown.kind, "__dataclass_fields__", {})]
