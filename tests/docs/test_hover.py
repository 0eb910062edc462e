"""Every option is documented where an editor shows it: in the function's docstring, and beside the option itself."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tenure import Call, Context, Tenure
from tenure.tasks.call import Options
from tenure.tasks.task import BatchOptions, TaskOptions

from .docstrings import fields_of, options_in


def _parameters(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds and one.name != "self"
    ]


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (Tenure.__init__, _parameters(Tenure.__init__)),
        (Tenure.task, [*BatchOptions.__annotations__]),
        (Tenure.worker, _parameters(Tenure.worker)),
        (Tenure.schedule, _parameters(Tenure.schedule)),
        (Tenure.submit, [*Options.__annotations__]),
        (Call.submit, [*Options.__annotations__]),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_every_option_is_in_the_docstring_of_its_function(function: Callable[..., Any], options: list[str]) -> None:
    told = options_in(inspect.getdoc(function) or "")
    assert [*told] == options, "one bullet each, in the order of the signature"
    assert all(len(text) > 10 and text.endswith(".") for text in told.values()), told


@pytest.mark.parametrize(
    ("kind", "function"),
    [(TaskOptions, Tenure.task), (Options, Tenure.submit), (Options, Call.submit)],
    ids=["task", "app.submit", "call.submit"],
)
def test_an_option_says_the_same_beside_itself(kind: type[Any], function: Callable[..., Any]) -> None:
    more = fields_of(BatchOptions) if kind is TaskOptions else {}
    assert fields_of(kind) | more == options_in(inspect.getdoc(function) or "")


@pytest.mark.parametrize(
    "function",
    [
        Tenure.submit_sync, Tenure.submit_many, Tenure.submit_many_sync, Tenure.schedule, Call.having, Call.submit_sync,
        Context.submit,
    ],
    ids=lambda value: value.__qualname__,
)  # fmt: skip
def test_a_function_that_takes_the_same_options_says_where_they_are_listed(function: Callable[..., Any]) -> None:
    assert "`app.submit`" in (inspect.getdoc(function) or "")
