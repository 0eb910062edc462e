"""Calls that send, rewritten: `delay`, `apply_async`, `group` and `chain`, within a task or outside.

Within a task a send becomes a hand-off (`ctx.submit`): it is stored in the same step that completes the handler.
A chain becomes tasks of its own, one a step (`chains.py`).
"""

import ast
from collections.abc import Callable

import msgspec

from tenure.audit.tree import dotted
from tenure.porting.chains import Chains, Step
from tenure.porting.project import CeleryTask, File, Project

#: What a word of `apply_async` is called in Tenure.
_OPTIONS = {
    "countdown": "delay", "eta": "at", "expires": "expires", "queue": "queue", "priority": "priority",
    "task_id": "id", "headers": "headers", "time_limit": "max_hold",
}  # fmt: skip
_SIGNATURES = ("s", "si", "subtask", "signature")
#: Words that change nothing of what is run.
_DROPPED = {
    "routing_key", "exchange", "serializer", "compression", "retry", "retry_policy", "ignore_result", "producer",
    "connection", "add_to_parent", "soft_time_limit", "shadow", "delivery_mode",
}  # fmt: skip


#: The source of a part.
Text = Callable[[ast.AST], str]


class Rewritten(msgspec.Struct, frozen=True):
    """What to write instead, or why there is nothing; `check`: what differs."""

    text: str = ""
    why_not: str = ""
    check: tuple[str, ...] = ()


class Sends:
    """Rewrites the sends of a project."""

    def __init__(self, project: Project, chains: Chains) -> None:
        """Rewrite calls of these tasks; chains are added to `chains`."""
        self._project = project
        self._chains = chains

    def rewritten(self, file: File, call: ast.Call, *, inside: bool, text: Text) -> Rewritten | None:
        """Rewrite one call. None: it sends nothing. `text` gives the source of a part, with its own edits made."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in ("delay", "apply_async"):
            task = self._project.task_of(file, func.value)
            if task is not None:
                return self._sent(task, call, func.attr, inside=inside, text=text)
            made = self._canvas(file, func.value, call, inside=inside, text=text)
            if made is not None:
                return made
        if isinstance(func, ast.Call):  # group(…)(), chain(…)()
            return self._canvas(file, func, call, inside=inside, text=text)
        if isinstance(func, ast.Attribute) and func.attr == "send_task":
            return Rewritten(why_not="send_task by name: app.submit(name, {…}) takes a dict of the arguments")
        return None

    # -- one task -----------------------------------------------------------------------------------

    def _sent(self, task: CeleryTask, call: ast.Call, verb: str, *, inside: bool, text: Text) -> Rewritten:
        if verb == "delay":
            inner = ", ".join(_written(call, text))
            return Rewritten(_submit(task.name, inner, "", inside=inside))
        bound, options, refused, check = self._parts(call, text)
        if refused:
            return Rewritten(why_not=refused)
        return Rewritten(_submit(task.name, bound, options, inside=inside), check=tuple(check))

    def _parts(self, call: ast.Call, text: Text) -> tuple[str, str, str, list[str]]:
        """The bound arguments, the options, why it cannot be, and what to check."""
        words = {word.arg: word.value for word in call.keywords if word.arg}
        for place, name in enumerate(("args", "kwargs")):
            if len(call.args) > place:
                words[name] = call.args[place]
        bound = [*_positional(words.pop("args", None), text), *_named(words.pop("kwargs", None), text)]
        options: list[str] = []
        check: list[str] = []
        for name, value in words.items():
            if name in _DROPPED:
                continue
            if name not in _OPTIONS:
                return "", "", f"{name}= of apply_async has no equal; let the handler submit what follows", []
            options.append(f"{_OPTIONS[name]}={text(value)}")
            if name == "priority":
                check.append("priority: on Redis Celery runs 0 first, Tenure runs 9 first")
            if name == "eta":
                check.append("eta became at=, which needs a datetime with a time zone")
        if any(word.arg is None for word in call.keywords):
            return "", "", "options come from elsewhere (`**`)", []
        return ", ".join(bound), ", ".join(options), "", check

    # -- several ------------------------------------------------------------------------------------

    def _canvas(self, file: File, node: ast.expr, call: ast.Call, *, inside: bool, text: Text) -> Rewritten | None:
        named = _canvas_name(file, node)
        if named == "chord" or (isinstance(node, ast.Call) and _canvas_name(file, node.func) == "chord"):
            return Rewritten(
                why_not="a chord: write app.group_sync([…], then=…); what follows takes a GroupResult, whose "
                "values(int) are the results"
            )
        if named == "group":
            return self._group(file, node, inside=inside, text=text)
        if named == "chain" or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)):
            return self._chain(file, node, call, inside=inside, text=text)
        return None

    def _group(self, file: File, node: ast.expr, *, inside: bool, text: Text) -> Rewritten:
        assert isinstance(node, ast.Call)  # noqa: S101 - asked by the caller
        given = node.args[0] if len(node.args) == 1 else None
        if isinstance(given, ast.GeneratorExp | ast.ListComp):
            bound = self._bound(file, given.elt, text)
            loops = "".join(f" {_loop(loop, text)}" for loop in given.generators)
            listed = f"{bound}{loops}"
        else:
            parts = given.elts if isinstance(given, ast.List | ast.Tuple) else node.args
            each = [self._bound(file, one, text) for one in parts]
            bound = "" if not each or None in each else "all"
            listed = ", ".join(one or "" for one in each)
        if not bound:
            return Rewritten(why_not="a group of something else than signatures of tasks of these files")
        is_generated = isinstance(given, ast.GeneratorExp | ast.ListComp)
        if inside:
            calls = listed if is_generated else f"[{listed}]"
            return Rewritten(f"[ctx.submit(call) for call in ({calls})]")
        return Rewritten(f"app.submit_many_sync([{listed}])")

    def _bound(self, file: File, node: ast.expr, text: Text) -> str | None:
        step = self._step(file, node, text)
        return None if step is None else f"{step.task.name}.bind({', '.join([*step.args, *step.named])})"

    def _step(self, file: File, node: ast.expr, text: Text) -> Step | None:
        """What a signature says: `send.s(1, to=2)`."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        task = self._project.task_of(file, node.func.value)
        if task is None or node.func.attr not in _SIGNATURES:
            return None
        if node.func.attr in ("subtask", "signature"):
            words = {word.arg: word.value for word in node.keywords if word.arg}
            args = node.args[0] if node.args else words.pop("args", None)
            named = words.pop("kwargs", None)
            if words:
                return None
            return Step(task, _positional(args, text), _named(named, text), is_immutable=False)
        if any(word.arg is None for word in node.keywords):
            return None
        named_here = [f"{word.arg}={text(word.value)}" for word in node.keywords]
        return Step(task, [text(one) for one in node.args], named_here, is_immutable=node.func.attr == "si")

    def _chain(self, file: File, node: ast.expr, call: ast.Call, *, inside: bool, text: Text) -> Rewritten:
        steps = [self._step(file, one, text) for one in _links(node)]
        known = [one for one in steps if one is not None]
        if len(known) != len(steps) or len(known) == 1:
            return Rewritten(why_not="a chain of something else than signatures of tasks of these files")
        _, options, refused, check = self._parts(call, text)
        if refused:
            return Rewritten(why_not=refused)
        name, bound = self._chains.add(known)
        return Rewritten(_submit(name, bound, options, inside=inside), check=tuple(check))


def _submit(task: str, bound: str, options: str, *, inside: bool) -> str:
    if inside:
        return f"ctx.submit({task}.bind({bound}){', ' if options else ''}{options})"
    return f"{task}.bind({bound}).submit_sync({options})" if options else f"{task}.submit_sync({bound})"


def _written(call: ast.Call, text: Text) -> list[str]:
    named = [f"{word.arg}={text(word.value)}" if word.arg else f"**{text(word.value)}" for word in call.keywords]
    return [*map(text, call.args), *named]


def _positional(node: ast.expr | None, text: Text) -> list[str]:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return []
    return [text(one) for one in node.elts] if isinstance(node, ast.Tuple | ast.List) else [f"*{text(node)}"]


def _named(node: ast.expr | None, text: Text) -> list[str]:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return []
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return [f"{key.value!s}={text(value)}" for key, value in pairs if isinstance(key, ast.Constant)]
    return [f"**{text(node)}"]


def _loop(loop: ast.comprehension, text: Text) -> str:
    tests = "".join(f" if {text(one)}" for one in loop.ifs)
    return f"for {text(loop.target)} in {text(loop.iter)}{tests}"


def _canvas_name(file: File, node: ast.expr) -> str | None:
    func = node.func if isinstance(node, ast.Call) else node
    full = file.module.full(func) or dotted(func) or ""
    first, _, last = full.rpartition(".")
    return last if first in ("celery", "celery.canvas") and last in ("group", "chain", "chord") else None


def _links(node: ast.expr) -> list[ast.expr]:
    """The steps of a chain, in their order."""
    if isinstance(node, ast.BinOp):
        return [*_links(node.left), *_links(node.right)]
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Attribute) and node.func.attr in _SIGNATURES):
        return [node]
    listed = node.args[0] if len(node.args) == 1 else None
    return list(listed.elts if isinstance(listed, ast.List | ast.Tuple) else node.args)
