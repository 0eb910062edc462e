"""The reference of the command line, made from the commands themselves.

    python tests/docs/command_page.py > docs/reference/cli.md

`test_reference.py` fails while the page is not what this prints.
"""

import sys
import textwrap
from collections.abc import Iterator

import click

from tenure.cli.root import root

_HEAD = """\
# Command line

What `tenure --help` and `tenure COMMAND --help` say, on one page. `TARGET` is an app (`jobs:app`: attribute `app` of
module `jobs`, looked for from the current folder) or a place (`sqlite:///jobs.db`). It may be left out where
`TENURE_URL` names one or the other: `export TENURE_URL=jobs:app` for an app that says itself where its messages are.
With an app that has a namespace, commands see that namespace only; with a place, everything.

- **Looking changes nothing.** A message that is looked at is not delivered by that.
- **Acting says what it will touch**, asks before it touches more than one message, and before every purge (`--yes` does
  not ask, and without a terminal it is needed), and is recorded in the journal with who did it.
- **An id may be shortened** to its beginning, of six characters or more, where no other id begins so. Ids begin with
  the time of sending, so messages of the same hour need a few more. On SQS the whole id is needed.
- `--json` prints one JSON document on standard output and nothing else, and errors as JSON on standard error; the
  [fields](json.md) are stable. There `null` is "cannot be known", 0 is "none".
- Colours are for terminals. `NO_COLOR` switches them off.
- Durations are written `30`, `30s`, `5m`, `2h`; moments as ISO 8601 with their offset, `2030-01-31T09:00+01:00`.

| exit code | means |
|---|---|
| 0 | done |
| 1 | the broker is in trouble, what was waited for did not come about, or `audit`, `health` or `doctor` found trouble |
| 2 | bad input or configuration; nothing was changed. `doctor`: it could not look |
| 70 | a bug in Tenure itself; `TENURE_DEBUG=1` shows the traceback |
| 130 | interrupted |

What goes wrong is one line on standard error, `error[code]: sentence`; the codes are in [errors](errors.md).
"""


def page() -> str:
    """The whole page."""
    commands = _commands(root, click.Context(root, info_name="tenure"))
    return _HEAD + "".join(f"\n{_section(command, ctx)}" for command, ctx in commands)


def _commands(group: click.Group, ctx: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=ctx)
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
        else:
            yield command, inner


def _section(command: click.Command, ctx: click.Context) -> str:
    name = ctx.command_path
    words = [word for word in command.collect_usage_pieces(ctx) if word != "[OPTIONS]"]
    paragraphs = (command.help or "").partition("\b")[0].strip().split("\n\n")
    text = "\n\n".join(textwrap.fill(" ".join(paragraph.split()), 118) for paragraph in paragraphs)
    options = [_row(one) for one in command.params if isinstance(one, click.Option) and not one.hidden]
    table = "".join(["| option | |\n|---|---|\n", *options])
    return f"## `{name}`\n\n`{' '.join([name, *words])}`\n\n{text}\n\n{table}"


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*sorted(option.opts, key=len, reverse=True), *option.secondary_opts])
    choices = f" One of {', '.join(option.type.choices)}." if isinstance(option.type, click.Choice) else ""
    default = f" Default: {option.default}." if option.show_default and option.default is not None else ""
    return f"| {names} | {option.help or ''}{default}{choices} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
