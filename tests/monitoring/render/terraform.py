"""Terraform files as python-hcl2 reads them: resources by type and name, texts without their marks."""

import functools
import re
from typing import Any

import hcl2

_HEREDOC = re.compile(r"<<-(?P<end>\w+)\n(?P<body>.*?)\n\s*(?P=end)", re.DOTALL)


@functools.cache
def resources(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """By type and name. Takes a second for a long file. Raises an error of the parser if the text is no HCL."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for one in hcl2.loads(text).get("resource", ()):
        for kind, named in _plain(one).items():
            found.setdefault(kind, {}).update(named)
    return found


def variables(text: str) -> dict[str, dict[str, Any]]:
    """By name."""
    return {name: about for one in hcl2.loads(text).get("variable", ()) for name, about in _plain(one).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(name): _plain(inner) for name, inner in value.items() if not str(name).startswith("__")}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    inner = value[1:-1] if value[:1] == value[-1:] == '"' else value
    if found := _HEREDOC.fullmatch(inner):
        lines = found["body"].splitlines()
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        inner = "\n".join(line[indent:] for line in lines)
    return inner.replace("$${", "${").replace('\\"', '"')
