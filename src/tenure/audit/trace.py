"""A trace: what a function does with messages, in the order in which it does it.

Messages are what a receive returned, or the parameters that a delete is about, and whatever is made of them.
Branches are walked one after the other, and every step knows what stands around it, so that a rule can distinguish
what always happens from what may. One function at a time: what others do with a message counts as work, or as handing
it on.
"""

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from tenure.audit.module import Module
from tenure.audit.queue_calls import DELETERS, CallKind, QueueCall, queue_calls
from tenure.audit.tree import Function, calls_in, dotted, last_name, walk_body, walk_here
from tenure.audit.work import Effort, effort_of, may_take_over


class What(StrEnum):
    """The kinds of events in a trace."""

    RECEIVE = "receive"
    WORK = "work"
    STARTED = "started"
    EXTEND = "extend"
    DELETE = "delete"
    #: A whole message, or its receipt, is put into a list.
    KEPT = "kept"


#: A statement, and the part of it in which something stands: (`try`, "finalbody").
Around = tuple[tuple[ast.AST, str], ...]


class Happening(NamedTuple):
    """One step of a trace."""

    what: What
    node: ast.Call
    around: Around
    call: QueueCall | None = None

    def is_in(self, statement: ast.AST, part: str) -> bool:
        """Whether it stands in that part of that statement."""
        return (statement, part) in self.around

    @property
    def choices(self) -> set[tuple[ast.AST, str]]:
        """The branches that it stands in: of an `if`, a `match`, or after an error."""
        kinds = (ast.If, ast.Match, ast.ExceptHandler, ast.IfExp)
        return {place for place in self.around if isinstance(place[0], kinds)}


class Trace(NamedTuple):
    """Everything that a function does to messages, in order."""

    function: Function | ast.Module
    steps: tuple[Happening, ...]
    #: A whole message is kept, or given to code that is not in this file.
    keeps: bool
    #: A whole message is returned.
    returns: bool

    @property
    def hands_on(self) -> bool:
        """Whether a whole message leaves the function, to where it cannot be followed from here."""
        return self.keeps or self.returns

    def of(self, *kinds: What) -> list[Happening]:
        """Return the steps of these kinds."""
        return [step for step in self.steps if step.what in kinds]


@lru_cache(maxsize=8)
def traces(module: Module) -> tuple[Trace, ...]:
    """A trace of all functions, and of the module itself, that call a queue or a wrapper of this file that receives."""
    with_calls = _kinds(module)
    wrapped = {
        module.function_of(call) for one in module.functions if _gives(module, one) for call in module.calls_of(one)
    }
    places: list[Function | ast.Module] = [one for one in module.functions if one in with_calls or one in wrapped]
    return tuple(
        _Tracer(module, place).trace()
        for place in [*places, *([module.tree] if None in with_calls or None in wrapped else [])]
    )


def borrowing(module: Module) -> Iterator[tuple[Trace, list[QueueCall]]]:
    """Traces of what calls no queue itself, with the receives of this file whose messages it gets as an answer."""
    givers = {one.function: one for one in traces(module) if one.returns and not one.keeps}
    found: dict[Function | None, list[QueueCall]] = {}
    for node in module.calls:
        giver = givers.get(local) if (local := module.local_function(node)) is not None else None
        place = module.function_of(node)
        if giver is not None and place not in _kinds(module) and place is not giver.function:
            found.setdefault(place, []).extend(step.call for step in giver.of(What.RECEIVE) if step.call is not None)
    for place, calls in found.items():
        yield _Tracer(module, module.tree if place is None else place).trace(), calls


@lru_cache(maxsize=8)
def _kinds(module: Module) -> dict[Function | None, set[CallKind]]:
    """Return the queue operations that each function does itself."""
    found: dict[Function | None, set[CallKind]] = {}
    for call in queue_calls(module):
        found.setdefault(module.function_of(call.node), set()).add(call.kind)
    return found


def _gives(module: Module, function: Function) -> bool:
    """Whether a function receives and returns something: messages, as it is taken to be."""
    return CallKind.RECEIVE in _kinds(module).get(function, ()) and _returns(function)


@lru_cache(maxsize=256)
def _returns(function: Function) -> bool:
    return any(isinstance(one, ast.Return | ast.Yield) and one.value is not None for one in walk_body(function))


@lru_cache(maxsize=8)
def _by_node(module: Module) -> dict[ast.Call, QueueCall]:
    return {call.node: call for call in queue_calls(module)}


class _Tracer:
    def __init__(self, module: Module, place: Function | ast.Module) -> None:
        self._module = module
        self._place = place
        self._calls = _by_node(module)
        self._messages: set[str] = set()
        self._steps: list[Happening] = []
        self._keeps = False
        self._returns = False

    def trace(self) -> Trace:
        """Walk it."""
        if not isinstance(self._place, ast.Module):
            self._messages |= self._parameters(self._place)
        self._block(self._place.body, ())
        return Trace(self._place, tuple(self._steps), self._keeps, self._returns)

    def _parameters(self, function: Function) -> set[str]:
        """Return the parameters that a delete here is about."""
        taken = {one.arg for one in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}
        named: set[str] = set()
        for call in (self._calls[one] for one in calls_in(function) if one in self._calls):
            if call.kind is CallKind.DELETE:
                named |= _names(*_about(call))
        local = named - taken  # `receipt = message["ReceiptHandle"]`
        for one in walk_body(function):
            if isinstance(one, ast.Assign) and any(dotted(target) in local for target in one.targets):
                named |= _names(one.value)
        return (named & taken) - {"self", "cls"}

    # -- statements ----------------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], around: Around) -> None:
        for statement in body:
            self._statement(statement, around)

    def _statement(self, node: ast.stmt, around: Around) -> None:  # noqa: C901 - one case a kind of statement
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.For() | ast.AsyncFor():
                self._expression(node.iter, around)
                if self._is_message(node.iter):
                    self._messages |= _names(node.target)
                self._block(node.body, (*around, (node, "body")))
                self._block(node.orelse, around)
            case ast.While():
                self._expression(node.test, around)
                self._block(node.body, (*around, (node, "body")))
                self._block(node.orelse, around)
            case ast.If():
                self._expression(node.test, around)
                self._block(node.body, (*around, (node, "body")))
                self._block(node.orelse, (*around, (node, "orelse")))
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, around)
                self._block(node.body, (*around, (node, "body")))
            case ast.Try() | ast.TryStar():
                self._block(node.body, (*around, (node, "body")))
                for handler in node.handlers:
                    self._block(handler.body, (*around, (node, "handlers"), (handler, "body")))
                self._block(node.orelse, (*around, (node, "orelse")))
                self._block(node.finalbody, (*around, (node, "finalbody")))
            case ast.Match():
                self._expression(node.subject, around)
                for case in node.cases:
                    self._block(case.body, (*around, (node, "cases")))
            case _:
                self._simple(node, around)

    def _simple(self, node: ast.stmt, around: Around) -> None:
        self._expression(node, around)
        match node:
            case ast.Assign() if self._is_message(node.value) and not self._is_answer(node.value):
                for target in node.targets:
                    self._keep(target)
            case ast.AnnAssign() if node.value is not None and self._is_message(node.value):
                self._keep(node.target)
            case ast.Return() if node.value is not None and self._is_whole(node.value):
                self._returns = True

    def _is_answer(self, node: ast.expr) -> bool:
        """Whether a value is a delete's answer, which is no message."""
        inner = node.value if isinstance(node, ast.Await) else node
        call = self._calls.get(inner) if isinstance(inner, ast.Call) else None
        return call is not None and call.kind is CallKind.DELETE

    def _keep(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name | ast.Tuple | ast.List):
            self._messages |= _names(target)
        else:
            self._keeps = True

    # -- expressions ---------------------------------------------------------------------------------

    def _expression(self, node: ast.AST, around: Around) -> None:
        """Trace the calls of an expression, the inner ones first."""
        inside = list(walk_here(node))
        for one in inside:
            if isinstance(one, ast.comprehension) and self._is_message(one.iter):
                self._messages |= _names(one.target)
            elif isinstance(one, ast.NamedExpr) and self._is_message(one.value):
                self._messages.add(one.target.id)
            elif isinstance(one, ast.Yield) and one.value is not None and self._is_whole(one.value):
                self._returns = True
        for one in reversed(inside):
            if isinstance(one, ast.Call):
                self._call(one, (*around, *self._choices(one, node)))

    def _choices(self, node: ast.AST, within: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        for one in self._module.around(node):
            if isinstance(one, ast.IfExp):
                yield one, "body"
            if one is within:
                return

    def _call(self, node: ast.Call, around: Around) -> None:
        call = self._calls.get(node)
        if call is not None and call.kind is not CallKind.SEND:
            kinds = {CallKind.RECEIVE: What.RECEIVE, CallKind.DELETE: What.DELETE, CallKind.EXTEND: What.EXTEND}
            self._steps.append(Happening(kinds[call.kind], node, around, call))
            return
        if self._receives(node):
            self._steps.append(Happening(What.RECEIVE, node, around))
        if self._deletes(node):
            self._steps.append(Happening(What.DELETE, node, around))
            return
        given = [*node.args, *(one.value for one in node.keywords)]
        before = node.func.value if isinstance(node.func, ast.Attribute) else None
        if not any(map(self._is_message, [*given, *([before] if before is not None else [])])):
            return
        effort = effort_of(self._module, node)
        if effort is not Effort.NONE:
            self._steps.append(Happening(What(effort.value), node, around, call))
        is_kept = last_name(node) in ("append", "add", "put", "put_nowait", "extend")
        if is_kept and any(map(self._is_whole, given)):
            self._steps.append(Happening(What.KEPT, node, around))
        is_taken = effort is not Effort.NONE or may_take_over(node)
        if (is_taken and self._module.local_function(node) is None) or is_kept:
            self._keeps = self._keeps or any(map(self._is_whole, given))

    def _deletes(self, node: ast.Call) -> bool:
        """A function of this file that deletes, by what it does and by its name."""
        local = self._module.local_function(node)
        if local is None or not any(word in local.name.lower() for word in ("delete", "ack", "remove", "complete")):
            return False
        return CallKind.DELETE in _kinds(self._module).get(local, ())

    # -- messages ------------------------------------------------------------------------------------

    def _is_message(self, node: ast.AST) -> bool:
        """Whether an expression is made of messages."""
        for one in walk_here(node):
            if isinstance(one, ast.Name) and one.id in self._messages:
                return True
            if isinstance(one, ast.Call) and self._receives(one):
                return True
        return False

    def _is_whole(self, node: ast.AST) -> bool:
        """Whether an expression is messages themselves, with what it takes to delete them."""
        if isinstance(node, ast.Await | ast.Starred):
            node = node.value
        if isinstance(node, ast.Tuple | ast.List | ast.Dict):
            inside = node.values if isinstance(node, ast.Dict) else node.elts
            return any(map(self._is_whole, inside))
        if isinstance(node, ast.Name):
            return node.id in self._messages
        if isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
            text = ast.dump(node)
            has_receipt = any(word in text for word in ("ReceiptHandle", "receipt", "Messages"))
            return self._is_message(node) and (has_receipt or (isinstance(node, ast.Call) and self._receives(node)))
        return isinstance(node, ast.ListComp | ast.GeneratorExp | ast.BoolOp | ast.IfExp) and self._is_message(node)

    def _receives(self, node: ast.Call) -> bool:
        call = self._calls.get(node)
        if call is not None:
            return call.kind is CallKind.RECEIVE
        local = self._module.local_function(node)
        return local is not None and local is not self._place and _gives(self._module, local)


def _about(call: QueueCall) -> list[ast.AST]:
    """The part of a delete that says which message."""
    if call.vendor == "sqs" and call.words:
        return [call.words[word] for word in ("ReceiptHandle", "Entries", "message") if word in call.words]
    if isinstance(call.func, ast.Attribute) and not call.args and not call.words:
        return [call.func.value]  # message.delete()
    args = call.args[1:] if call.verb in DELETERS else call.args  # the first is the client
    return [*args, *(value for word, value in call.words.items() if "url" not in word.lower())]


def _names(*nodes: ast.AST) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}
