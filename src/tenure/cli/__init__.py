"""The command line: `tenure`.

    root.py       the group, the table of commands, the exit codes
    target.py     from `jobs:app` or a URL to an app
    commands/     one file a command or family, imported when it is asked for
    terminal/     tables, colours, and how durations, sizes and moments are written

Every command prints tables and sentences for people, and with `--json` one JSON document on standard output and nothing
else. An error is one line on standard error, `error[code]: sentence`, and never a traceback (`failing.py`).
"""

import sys

__all__ = ["main"]


def main() -> None:
    """The console script."""
    try:
        from tenure.cli.root import root

        root.main(prog_name="tenure")
    except KeyboardInterrupt:  # pressed before there was a command to interrupt, or after it had ended
        sys.exit(130)
