"""Small questions to a syntax tree, which need to know nothing else of its module."""

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: What has a body that runs later, if ever.
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINED = (*FUNCTIONS, ast.ClassDef)
_LEAVES = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` as text. None: it is no plain chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def last_name(call: ast.Call) -> str:
    """The name that is called, without what stands before its dot; empty for anything else."""
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below: as `ast.iter_child_nodes`, faster, and without operators and contexts, which have none."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
            found.append(value)
    return found


def walk_here(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node that runs when it runs: not the bodies of functions that are only defined there."""
    ahead = [node]
    while ahead:
        found = ahead.pop()
        yield found
        below = children(found)
        below.reverse()
        ahead += [child for child in below if not isinstance(child, _DEFINED)]


def calls_here(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that are made when this runs, in the order of the text."""
    return (found for found in walk_here(node) if isinstance(found, ast.Call))


def walk_body(function: Function) -> Iterator[ast.AST]:
    """Everything that runs when a function is called."""
    inside = (part for part in function.body if not isinstance(part, _DEFINED))
    return (found for part in inside for found in walk_here(part))


def calls_in(function: Function) -> list[ast.Call]:
    """The calls that a function makes, in the order of the text."""
    return [found for found in walk_body(function) if isinstance(found, ast.Call)]
