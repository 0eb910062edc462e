"""A module as the rules see it: its tree with parents, its imports, and what names are bound to.

One pass over the tree, made from `source.py`'s text. Names are followed as far as it is sure: within a function, then
the functions around it, then the module; `self.x` within its class, and `settings.x` into the class of this file that
made it; a parameter to what all calls of this file give; numbers and texts into the file that a name is imported from
(`elsewhere.py`). A name that is bound to several things counts as unknown.
"""

import ast
import re
from collections.abc import Callable, Iterator

from tenure.audit.arithmetic import number, reckoned
from tenure.audit.tree import FUNCTIONS, Function, children, dotted

#: What a name is in the file that it is imported from: by the importing file, the full name, the number of leading
#: dots, and how many names were followed until there.
Elsewhere = Callable[[str, str, int, int], float | str | None]
Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

#: Names of one name of one name: far enough.
_DEEPEST = 8
#: No timeout and no count is larger.
_LARGEST = 1e15
#: Names that speak of a heartbeat.
BEATS = re.compile(r"heart_?beat|keep_?alive|(extend|renew)_?(visib|lease|lock|timeout)|visibility_?(extend|renew)")


class Module:
    """A parsed file."""

    def __init__(self, path: str, tree: ast.Module, elsewhere: Elsewhere = lambda *_: None) -> None:
        self.path = path
        self.tree = tree
        self._elsewhere = elsewhere
        self.parents: dict[ast.AST, ast.AST] = {}
        #: What a name means: `sleep` → `time.sleep`.
        self.imports: dict[str, str] = {}
        #: With how many dots before it: `from ..app import x` has two.
        self._levels: dict[str, int] = {}
        self.functions: list[Function] = []
        #: Those of the file itself; None: there are several of that name.
        self.classes: dict[str, ast.ClassDef | None] = {}
        self.calls: list[ast.Call] = []
        #: None: something that is no expression, as an item of a loop.
        self._bound: dict[tuple[Scope, str], list[ast.expr | None]] = {}
        self._annotated: dict[tuple[Scope, str], ast.expr] = {}
        #: By class and name; without a class, those that are called by their bare name.
        self._named: dict[tuple[ast.ClassDef | None, str], Function] = {}
        self._calls_of: dict[Function, list[ast.Call]] | None = None
        self._words: set[str] = set()
        self._texts: set[str] = set()
        self._changed: set[str] = set()
        self._read()
        self.speaks_of_beats = any(BEATS.search(word) for word in map(str.lower, self._words))

    # -- reading -------------------------------------------------------------------------------------

    def _read(self) -> None:
        # Parents first: what a name is bound in depends on what stands around it.
        ahead: list[ast.AST] = [self.tree]
        nodes: list[ast.AST] = []
        while ahead:
            node = ahead.pop()
            nodes.append(node)
            for child in children(node):
                self.parents[child] = node
                ahead.append(child)
        for node in nodes:
            self._note(node)
        self.functions.sort(key=lambda function: function.lineno)
        for function in self.functions:
            around = self.parents.get(function)
            self._named.setdefault((around if isinstance(around, ast.ClassDef) else None, function.name), function)
        self.calls.sort(key=lambda call: (call.lineno, call.col_offset))

    def _note(self, node: ast.AST) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a kind of node
        match node:
            case ast.Call():
                self.calls.append(node)
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("update", "setdefault", "pop"):
                    self._changed.add(dotted(node.func.value) or "")
            case ast.Subscript() if not isinstance(node.ctx, ast.Load):
                self._changed.add(dotted(node.value) or "")
            case ast.Constant(value=str() as text):
                self._texts.add(text)
            case ast.Name():
                self._words.add(node.id)
            case ast.Attribute():
                self._words.add(node.attr)
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.imports[name] = alias.name if alias.asname else name
                    self._words.add(alias.name)
            case ast.ImportFrom():
                for alias in node.names:
                    name, full = alias.asname or alias.name, f"{node.module or ''}.{alias.name}"
                    self.imports[name], self._levels[name] = full, node.level
                    self._words.add(alias.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions.append(node)
                self._words.add(node.name)
                self._parameters(node)
            case ast.ClassDef():
                self._words.add(node.name)
                self.classes[node.name] = None if node.name in self.classes else node
            case ast.Lambda():
                self._parameters(node)
            case ast.Assign():
                for target in node.targets:
                    self._bind(target, node.value)
            case ast.AnnAssign():
                self._bind(node.target, None if self._is_field(node) else node.value)
                self._annotate(node.target, node.annotation)
            case ast.NamedExpr():
                self._bind(node.target, node.value)
            case ast.AugAssign() | ast.For() | ast.AsyncFor() | ast.comprehension():
                self._bind(node.target, None)
            case ast.withitem() if node.optional_vars is not None:
                self._bind(node.optional_vars, node.context_expr)

    def _is_field(self, node: ast.AnnAssign) -> bool:
        """Whether a name is a field of a dataclass or a model: its value is only its default."""
        is_fixed = any(word in ast.unparse(node.annotation) for word in ("Final", "ClassVar"))
        return isinstance(self.parents.get(node), ast.ClassDef) and not is_fixed

    def _parameters(self, function: Function | ast.Lambda) -> None:
        taken = function.args
        for one in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]:
            if one is not None:
                self._bound.setdefault((function, one.arg), []).append(None)
                if one.annotation is not None:
                    self._annotated[function, one.arg] = one.annotation

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for place, part in enumerate(target.elts):
                self._bind(part, values[place] if len(values) == len(target.elts) else None)
            return
        place_of = self._place(target)
        if place_of is not None:
            self._bound.setdefault(place_of, []).append(value)

    def _annotate(self, target: ast.expr, annotation: ast.expr) -> None:
        place_of = self._place(target)
        if place_of is not None:
            self._annotated[place_of] = annotation

    def _place(self, target: ast.expr) -> tuple[Scope, str] | None:
        name = dotted(target)
        if name is None:
            return None
        if name.startswith(("self.", "cls.")):
            owner = self.class_of(target)
            return None if owner is None else (owner, name.partition(".")[2])
        return None if "." in name else (self.scope_of(target), name)

    # -- asking --------------------------------------------------------------------------------------

    def full(self, node: ast.AST) -> str | None:
        """The dotted name with its first part as it was imported: `sleep` → `time.sleep`."""
        name = dotted(node)
        if name is None:
            return None
        first, dot, rest = name.partition(".")
        return f"{self.imports.get(first, first)}{dot}{rest}"

    def imports_any(self, *packages: str) -> bool:
        """Whether something of these packages is imported, anywhere in the file."""
        return any(name == one or name.startswith(f"{one}.") for name in self.imports.values() for one in packages)

    def says(self, text: str) -> bool:
        """Whether the file has that text as a literal of its own."""
        return text in self._texts

    def is_changed(self, node: ast.expr) -> bool:
        """Whether something of that name gets or loses items somewhere: `words["x"] = 1`."""
        return dotted(node) in self._changed

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, from the inside out."""
        found = self.parents.get(node)
        while found is not None:
            yield found
            found = self.parents.get(found)

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope in which a name used here is bound."""
        for one in self.around(node):
            if isinstance(one, (*FUNCTIONS, ast.ClassDef, ast.Module)):
                return one
        return self.tree

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that it is in; None: it runs at import."""
        return next((one for one in self.around(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that it is in."""
        return next((one for one in self.around(node) if isinstance(one, ast.ClassDef)), None)

    def bound(self, node: ast.expr) -> list[ast.expr | None]:
        """Return everything that a name or `self.x` is bound to; empty: it is not bound here."""
        for place in self._places(node):
            if place in self._bound:
                return self._bound[place]
        return []

    def annotation(self, node: ast.expr) -> ast.expr | None:
        """The type that stands beside a name."""
        return next((self._annotated[place] for place in self._places(node) if place in self._annotated), None)

    def _places(self, node: ast.expr) -> Iterator[tuple[Scope, str]]:
        name = dotted(node)
        if name is None:
            return
        if name.startswith(("self.", "cls.")):
            owner = self.class_of(node)
            if owner is not None:
                yield owner, name.partition(".")[2]
        elif "." not in name:
            for one in self.around(node):
                if isinstance(one, (*FUNCTIONS, ast.Module)):
                    yield one, name

    def function_named(self, name: str) -> Function | None:
        """The function of this file that a bare name is."""
        return self._named.get((None, name))

    def local_function(self, call: ast.Call) -> Function | None:
        """The function of this file that is called, by its name or as `self.name`."""
        name = dotted(call.func)
        if name is None or (first := name.split(".")[0]) in self.imports:
            return None
        if first in ("self", "cls") and name.count(".") == 1:
            return self._named.get((self.class_of(call), name.split(".")[1]))
        if isinstance(call.func, ast.Attribute):
            owner = self.class_behind(call.func.value)
            return None if owner is None else self._named.get((owner, call.func.attr))
        return self._named.get((None, name))

    def class_behind(self, node: ast.expr) -> ast.ClassDef | None:
        """The class of this file that an expression is, or is an object of. None: another, or not known."""
        bound = self.bound(node)
        if len(bound) == 1 and isinstance(bound[0], ast.Call):
            return self.classes.get(dotted(bound[0].func) or "")
        beside = self.annotation(node)
        if beside is not None:
            return self.classes.get(dotted(beside) or "")
        return None if bound else self.classes.get(dotted(node) or "")

    def calls_of(self, function: Function) -> list[ast.Call]:
        """The calls of a function of this file."""
        if self._calls_of is None:
            self._calls_of = {}
            for call in self.calls:
                if (local := self.local_function(call)) is not None:
                    self._calls_of.setdefault(local, []).append(call)
        return self._calls_of.get(function, [])

    def constant(self, node: ast.expr | None, depth: int = 0) -> float | str | None:  # noqa: PLR0911 - one a kind
        """The number or text that an expression always is. None: not known before it runs."""
        if node is None or depth > _DEEPEST:
            return None
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.Constant(value=int() | float() as given) if not isinstance(given, bool):
                return float(given) if -_LARGEST < given < _LARGEST else None
            case ast.BinOp():
                return reckoned(node.op, self.constant(node.left, depth + 1), self.constant(node.right, depth + 1))
            case ast.Name() | ast.Attribute():
                of_class = self._constant_of_class(node, depth + 1)
                return (
                    self._constant_of(dotted(node) or "", self.bound(node), depth + 1) if of_class is None else of_class
                )
            case ast.Call(func=ast.Name(id="int" | "float" | "str"), args=[inner], keywords=[]):
                return number(self.constant(inner, depth + 1))
        return None

    def constant_named(self, name: str, depth: int) -> float | str | None:
        """Return a constant, as `constant` does, by a name of the module itself, or of a class: `Settings.TIMEOUT`."""
        first, dot, rest = name.partition(".")
        if not dot:
            return self._constant_of(name, self._bound.get((self.tree, name), []), depth)
        bound = self._bound.get((self.tree, first), [])
        if len(bound) == 1 and isinstance(bound[0], ast.Call):  # settings = Settings()
            first = dotted(bound[0].func) or ""
        return self._constant_of_field(self.classes.get(first), rest, depth)

    def _constant_of_class(self, node: ast.expr, depth: int) -> float | str | None:
        """The constant behind `Settings.TIMEOUT`, or `settings.TIMEOUT`, or a parameter."""
        if isinstance(node, ast.Attribute):
            owner = None if dotted(node.value) in (None, "self", "cls") else self.class_behind(node.value)
            return self._constant_of_field(owner, node.attr, depth)
        return self._given(node, depth) if isinstance(node, ast.Name) else None

    def _constant_of_field(self, owner: ast.ClassDef | None, name: str, depth: int) -> float | str | None:
        bound = [] if owner is None else self._bound.get((owner, name), [])
        return self.constant(bound[0], depth) if len(bound) == 1 else None

    def _given(self, node: ast.Name, depth: int) -> float | str | None:
        """What all calls of this file give for a parameter. None: they differ, or it is none."""
        function = self.function_of(node)
        if function is None or depth > _DEEPEST or self._bound.get((function, node.id)) != [None]:
            return None
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        place = names.index(node.id) - (names[0] in ("self", "cls")) if node.id in names else None
        found: set[float | str | None] = set()
        for call in self.calls_of(function):
            named = [one.value for one in call.keywords if one.arg == node.id]
            is_placed = place is not None and place < len(call.args)
            given = named[0] if named else call.args[place] if is_placed and place is not None else None
            found.add(None if isinstance(given, ast.Starred) else self.constant(given, depth + 1))
        return found.pop() if len(found) == 1 else None

    def _constant_of(self, name: str, bound: list[ast.expr | None], depth: int) -> float | str | None:
        first, dot, rest = name.partition(".")
        if first not in self.imports:
            return self.constant(bound[0], depth) if len(bound) == 1 else None
        if bound or depth > _DEEPEST:  # imported and bound as well: which it is cannot be known
            return None
        return self._elsewhere(self.path, f"{self.imports[first]}{dot}{rest}", self._levels.get(first, 0), depth + 1)

    def seconds(self, node: ast.expr | None) -> float | None:
        """Return a number of seconds, as `constant` does for any value."""
        return number(self.constant(node))
