"""A rule, and a hit of one: what the rules' functions yield.

Next on the path: `auditing.py` makes a located finding of each hit.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from tenure.audit.module import Module
from tenure.finding import Severity


class Rule(msgspec.Struct, frozen=True):
    """`id` is stable and what comments ignore; `name` is the same for people; `remedy` names the piece of Tenure."""

    id: str
    name: str
    severity: Severity
    title: str
    why: str
    remedy: str


class Hit(NamedTuple):
    """A rule that does not hold at a node of the tree."""

    rule: str
    node: ast.expr | ast.stmt | ast.excepthandler
    evidence: str


Check = Callable[[Module], Iterator[Hit]]
