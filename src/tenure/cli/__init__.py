"""The command line: `tenure`.

    root.py       the group, the table of commands, the exit codes
    target.py     from `jobs:app` or a URL to an app
    <command>.py  one file a command or family, imported when it is asked for

Every command speaks to people in tables and sentences, and with `--json` to programs: one JSON document on
standard output and nothing else. What goes wrong is one line on standard error, `error[code]: sentence`, and
never a traceback (`failing.py`).
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
