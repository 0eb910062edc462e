"""One task's function, rewritten: its context, its retries and its sends. Comments and layout stay.

A statement that has no equal becomes `raise NotImplementedError("…")`, so that the text imports, and says at run time
what is missing instead of doing something else.
"""

import ast
from collections.abc import Iterator

import msgspec

from tenure.audit.tree import dotted
from tenure.porting.edits import Edits, Placed, Source, indented, quoted
from tenure.porting.policy import FOR_EVER, Policy, policy_of
from tenure.porting.ported import Kind, Note
from tenure.porting.project import CeleryTask, Project
from tenure.porting.sends import Sends

#: Words that `submit` takes for itself.
_TAKEN_NAMES = {
    "at", "client", "correlation_id", "delay", "expires", "headers", "lease", "max_attempts", "max_hold", "unique",
    "unique_window", "webhook", "priority", "queue", "key", "id",
}  # fmt: skip
#: What a part that was not carried over raises.
_SEE = quoted("not carried over: see the note above the task")
_LITERALS = {bool: "bool", int: "int", float: "float", str: "str"}


class PortedTask(msgspec.Struct, frozen=True):
    """The text of a task and what it needs."""

    task: CeleryTask
    policy: Policy
    text: str
    takes_context: bool
    notes: list[Note]


class Body:
    """Rewrites one function."""

    def __init__(self, task: CeleryTask, project: Project, sends: Sends) -> None:
        """Rewrite `task`, whose sends are rewritten by `sends`."""
        self._task, self._project, self._sends = task, project, sends
        self._file, self._function = task.file, task.function
        self._source: Source = task.file.source
        self._edits = Edits()
        self._notes: list[Note] = []
        self._takes_context = False
        arguments = [*self._function.args.posonlyargs, *self._function.args.args]
        self._self = arguments[0].arg if task.is_on("bind") and arguments else None
        asks = any(self._is_of_self(call.func, "retry") for call in self._calls())
        self._policy = policy_of(task, project, asks_for_retry=asks)

    def ported(self) -> PortedTask:
        """The whole of it."""
        for statement in self._function.body:
            self._visit(statement)
        body = self._body()
        parameters = self._parameters()
        notes = [*self._policy.notes, *self._notes]
        head = "async def" if isinstance(self._function, ast.AsyncFunctionDef) else "def"
        returns = "" if self._function.returns is None else f" -> {ast.unparse(self._function.returns)}"
        others = [self._source.text(one) for one in self._function.decorator_list if one is not self._task.decorator]
        lines = [self._policy.decorator, *(f"@{one}" for one in others)]
        lines.append(f"{head} {self._task.name}({', '.join(parameters)}){returns}:")
        return PortedTask(self._task, self._policy, "\n".join(lines) + "\n" + body, self._takes_context, notes)

    # -- the body ------------------------------------------------------------------------------------

    def _body(self) -> str:
        first, last = self._function.body[0], self._function.body[-1]
        start = self._source.line_start(first.lineno)
        if first.lineno == self._function.lineno:  # def f(): pass
            return f"    {self._source.between(self._source.span(first)[0], self._source.span(last)[1], self._edits)}\n"
        text = self._source.between(start, self._source.span(last)[1], self._edits) + "\n"
        if not self._policy.retried or self._policy.retries_all:
            return text
        # Celery tries again on these alone: here they ask for it, and reject_on takes all others.
        kept, text = self._docstring(text)
        step = " " * first.col_offset
        wrapped = indented(text, step)
        name = self._policy.retried[0] if len(self._policy.retried) == 1 else f"({', '.join(self._policy.retried)})"
        end = f"{step}except {name} as error:\n{step}{step}raise Retry(reason=repr(error)) from error\n"
        return f"{kept}{step}try:\n{wrapped}{end}"

    def _docstring(self, text: str) -> tuple[str, str]:
        first = self._function.body[0]
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if not is_text or len(self._function.body) == 1:
            return "", text
        lines = (first.end_lineno or first.lineno) - first.lineno + 1
        parts = text.splitlines(keepends=True)
        return "".join(parts[:lines]), "".join(parts[lines:])

    def _parameters(self) -> list[str]:
        taken = self._function.args
        given = [*taken.posonlyargs, *taken.args][1 if self._self is not None else 0 :]
        defaults: list[ast.expr | None] = [*[None] * (len(given) - len(taken.defaults)), *taken.defaults]
        out = ["ctx: SyncContext"] if self._takes_context else []
        out += [
            self._parameter(one, default) for one, default in zip(given, defaults[-len(given) or None :], strict=False)
        ]
        if taken.kwonlyargs:
            out.append("*")
            out += [
                self._parameter(one, default) for one, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
            ]
        if taken.vararg or taken.kwarg:
            out += [f"*{taken.vararg.arg}: Any"] if taken.vararg else []
            out += [f"**{taken.kwarg.arg}: Any"] if taken.kwarg else []
            self._say(Kind.BY_HAND, "*args and **kwargs: a handler of Tenure names its parameters; write them out")
        return out

    def _parameter(self, one: ast.arg, default: ast.expr | None) -> str:
        kind = None if one.annotation is None else ast.unparse(one.annotation)
        if kind is None:
            kind = _LITERALS.get(type(default.value), "Any") if isinstance(default, ast.Constant) else "Any"
        if one.arg in _TAKEN_NAMES:
            self._say(Kind.BY_HAND, f"the parameter {one.arg} has the name of an option of submit; rename it")
        return f"{one.arg}: {kind}" + ("" if default is None else f" = {ast.unparse(default)}")

    # -- one statement, then what is in it -----------------------------------------------------------

    def _visit(self, node: ast.AST) -> None:
        """Rewrite from the inside out, so that what is outside takes what was made inside."""
        for below in ast.iter_child_nodes(node):
            self._visit(below)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and self._is_of_self(node.exc.func, "retry"):
            self._retry(node.exc, node.exc, raises=False)
        elif isinstance(node, ast.Expr | ast.Return) and isinstance(node.value, ast.Call):
            if self._is_of_self(node.value.func, "retry"):
                self._retry(node.value, node, raises=True)
            elif self._is_of_self(node.value.func, "update_state"):
                self._progress(node.value, node)
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)

    def _call(self, call: ast.Call) -> None:
        if self._file.module.full(call.func) == "celery.utils.log.get_task_logger":
            self._edit(call.func, "logging.getLogger")
            return
        made = self._sends.rewritten(self._file, call, inside=True, text=self._text)
        if made is None:
            return
        if made.why_not:
            self._give_up(call, made.why_not)
            return
        self._takes_context = True
        self._edit(call, made.text)
        for text in made.check:
            self._say(Kind.CHECK, text, call.lineno)
        if not isinstance(self._file.module.parents.get(call), ast.Expr):
            self._say(
                Kind.CHECK, "ctx.submit returns the id of the message, which is sent when this handler has completed",
                call.lineno,
            )  # fmt: skip

    def _retry(self, call: ast.Call, place: Placed, *, raises: bool) -> None:
        words = {word.arg: word.value for word in call.keywords}
        after = words.pop("countdown", None)
        error = words.pop("exc", None)
        limit = words.pop("max_retries", None)
        words.pop("throw", None)
        if limit is not None:
            self._say(
                Kind.BY_HAND, f"retry(max_retries={ast.unparse(limit)}): max_attempts of the task counts", call.lineno
            )
        for name in words:
            self._say(Kind.BY_HAND, f"retry({name}=…) has no equal", call.lineno)
        said = [] if after is None else [f"after={self._text(after)}"]
        said += [] if error is None else [f"reason=repr({self._text(error)})"]
        self._edit(place, f"{'raise ' if raises else ''}Retry({', '.join(said)})")

    def _progress(self, call: ast.Call, place: ast.stmt) -> None:
        meta = next((word.value for word in call.keywords if word.arg == "meta"), None)
        self._takes_context = True
        note = "" if meta is None else f"note=str({self._text(meta)})"
        self._edit(place, f"ctx.progress({note})")
        self._say(Kind.CHECK, "update_state became ctx.progress; give it a fraction from 0 to 1 too", call.lineno)

    def _attribute(self, node: ast.Attribute) -> None:
        if self._self is None:
            return
        name = dotted(node) or ""
        if not name.startswith(f"{self._self}."):
            return
        known = {
            "request.retries": "(ctx.attempt - 1)", "request.id": "ctx.message.id", "name": quoted(self._task.name),
            "max_retries": str(min(self._policy.max_retries, FOR_EVER)),
            "request.correlation_id": "ctx.message.correlation_id",
        }  # fmt: skip
        rest = name.partition(".")[2]
        if rest in known:
            self._takes_context = self._takes_context or known[rest].startswith(("ctx", "(ctx"))
            self._edit(node, known[rest])
        elif rest not in ("request", "retry", "update_state") and not isinstance(
            self._file.module.parents.get(node), ast.Attribute
        ):
            self._give_up(node, f"{name} has no equal")

    def _give_up(self, node: ast.expr, why: str) -> None:
        self._say(Kind.BY_HAND, why, node.lineno)
        statement = next(one for one in (node, *self._file.module.around(node)) if isinstance(one, ast.stmt))
        # Of a compound statement only its first line could be meant: it stays, and raises before it.
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.AsyncFor | ast.AsyncWith):
            start = self._source.span(statement)[0]
            self._edits.all.append((start, start, f"raise NotImplementedError({_SEE})\n{' ' * statement.col_offset}"))
            return
        self._edit(statement, f"raise NotImplementedError({_SEE})")

    # -- small parts ---------------------------------------------------------------------------------

    def _calls(self) -> Iterator[ast.Call]:
        return (one for one in ast.walk(self._function) if isinstance(one, ast.Call))

    def _is_of_self(self, node: ast.expr, name: str) -> bool:
        return self._self is not None and dotted(node) == f"{self._self}.{name}"

    def _edit(self, node: Placed, text: str) -> None:
        self._edits.replace(self._source.span(node), text)

    def _text(self, node: ast.AST) -> str:
        assert isinstance(node, ast.expr)  # noqa: S101 - what sends asks for
        return self._source.text(node, self._edits)

    def _say(self, kind: Kind, text: str, line: int | None = None) -> None:
        place = self._function.lineno if line is None else line
        self._notes.append(Note(kind, self._task.name, self._file.module.path, place, text))
