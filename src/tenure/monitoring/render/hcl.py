"""Writing HCL, the language of Terraform: blocks with aligned arguments, as `terraform fmt` leaves them. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence

import msgspec

HEADER = "# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.\n\n"
_INDENT = "  "


class Expression(msgspec.Struct, frozen=True):
    """Something that is computed: `var.location`. Written as it is."""

    text: str


class Heredoc(msgspec.Struct, frozen=True):
    """A text of several lines."""

    text: str


Value = str | int | float | bool | Expression | Heredoc | Sequence["Value"] | Mapping[str, "Value"]


class Block(msgspec.Struct, frozen=True):
    """`kind "label" "label" { … }`: arguments, then blocks."""

    kind: str
    labels: tuple[str, ...] = ()
    arguments: Mapping[str, Value] = {}
    blocks: tuple["Block", ...] = ()


def interpolated(*parts: str | Expression) -> Expression:
    """One text of texts and of what is computed."""
    inner = (f"${{{one.text}}}" if isinstance(one, Expression) else _quoted(one)[1:-1] for one in parts)
    return Expression(f'"{"".join(inner)}"')


def written(blocks: Iterable[Block]) -> str:
    """The blocks, one after the other."""
    return "\n".join(_block(one, "") for one in blocks)


def variable(name: str, kind: Expression, about: str, default: Value | None = None) -> Block:
    """What a module asks for. Without a default it has to be given."""
    arguments: dict[str, Value] = {"description": about, "type": kind}
    if default is not None:
        arguments["default"] = default
    return Block("variable", (name,), arguments)


def provider(name: str, at_least: str) -> Block:
    """Which provider a module needs, of HashiCorp's own."""
    needed: dict[str, Value] = {name: {"source": f"hashicorp/{name}", "version": f">= {at_least}"}}
    return Block("terraform", (), {}, (Block("required_providers", (), needed),))


def _block(block: Block, indent: str) -> str:
    head = " ".join([block.kind, *(json.dumps(one) for one in block.labels)])
    inner = indent + _INDENT
    parts = [_arguments(block.arguments, inner)] if block.arguments else []
    parts += [_block(one, inner) for one in block.blocks]
    return f"{indent}{head} {{\n" + "\n".join(parts) + f"{indent}}}\n"


def _arguments(arguments: Mapping[str, Value], indent: str) -> str:
    """Equals signs of neighbouring lines stand below each other; what takes several lines is aligned with none."""
    lines: list[str] = []
    run: list[tuple[str, str]] = []

    def flush() -> None:
        width = max((len(name) for name, _ in run), default=0)
        lines.extend(f"{indent}{name.ljust(width)} = {text}\n" for name, text in run)
        run.clear()

    for name, value in arguments.items():
        text = _value(value, indent)
        if "\n" in text:
            flush()
            lines.append(f"{indent}{name} = {text}\n")
        else:
            run.append((name, text))
    flush()
    return "".join(lines)


def _value(value: Value, indent: str) -> str:
    match value:
        case Expression(text):
            written = text
        case Heredoc(text):
            body = "".join(f"{indent}{_INDENT}{line}\n" if line else "\n" for line in _escaped(text).splitlines())
            written = f"<<-EOT\n{body}{indent}EOT"
        case str():
            written = _quoted(value)
        case bool():
            written = "true" if value else "false"
        case int() | float():
            written = f"{value:.12g}"
        case Mapping():
            written = "{\n" + _arguments(value, indent + _INDENT) + indent + "}"
        case _:
            written = "[" + ", ".join(_value(one, indent) for one in value) + "]"
    return written


def _quoted(text: str) -> str:
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    """No part of it is a template of Terraform's."""
    return text.replace("${", "$${").replace("%{", "%%{")
