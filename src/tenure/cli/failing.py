"""How a command ends: an exit code, and for what went wrong one line with a stable code. Never a traceback.

0    done
1    the broker is in trouble, or what was waited for or asked for did not come about, or something was found
2    bad input or configuration
70   a mistake in Tenure itself
130  interrupted
"""

import io
import logging
import os
import sys
from collections.abc import Callable

import click

from tenure.cli.plain import one_line
from tenure.errors import BadMessage, ConfigurationError, MessageNotFound, TaskFailed, TenureError

DONE = 0
TROUBLE = 1
BAD_INPUT = 2
OUR_MISTAKE = 70
INTERRUPTED = 130


class BadTarget(ConfigurationError):
    """The words do not lead to an app."""

    code = "bad_target"


class ImportFailed(ConfigurationError):
    """The app's module is there but does not import."""

    code = "import_failed"


class NotBrowsable(ConfigurationError):
    """The broker cannot show what lies in it."""

    code = "not_browsable"


class NotConfirmed(ConfigurationError):
    """An act on many messages that nobody said yes to."""

    code = "not_confirmed"


class UnknownQueue(ConfigurationError):
    """A queue that nobody knows: most likely mistyped."""

    code = "unknown_queue"


class UnknownSchedule(ConfigurationError):
    """A schedule that nobody knows."""

    code = "unknown_schedule"


class NotCancelled(TenureError):
    """Some of the messages were finished before they could be cancelled."""

    code = "not_cancelled"


class NotDead(ConfigurationError):
    """A message that was named as a dead letter is none."""

    code = "not_dead"


def ending(run: Callable[[], object]) -> int:
    """Run a command; the code to exit with. Says on standard error what went wrong."""
    _hold_back_logging()
    _never_fail_on_a_character()
    try:
        answer = run()
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # the last door: what passes it is a traceback on a user's screen
        if os.environ.get("TENURE_DEBUG"):
            raise
        return _told(error)
    return answer if isinstance(answer, int) else DONE


def _told(error: Exception) -> int:
    match error:
        case click.UsageError():
            if error.ctx is not None:
                click.echo(error.ctx.get_usage(), err=True)  # noqa: TID251 - our own words
            return _line("usage", error.format_message(), BAD_INPUT)
        case click.ClickException():
            return _line("usage", error.format_message(), BAD_INPUT)
        case TenureError():
            bad_input = isinstance(error, ConfigurationError | BadMessage | MessageNotFound)
            return _line(error.code, _sentence(error), BAD_INPUT if bad_input else TROUBLE)
        case PermissionError():
            what = f"this user may not use {error.filename or 'a file'} ({error.strerror})"
            advice = "Check the permissions of the file and its folders, or do this as another user"
            return _line("permission_denied", f"{what}; the command was ended there. {advice}", TROUBLE)
        case UnicodeEncodeError():
            # Words of the command line that are no UTF-8 come in as lone surrogates, and fail where they are stored.
            return _line("usage", f"{error.object!r} is no text in UTF-8; nothing was changed", BAD_INPUT)
    kind = type(error).__name__
    text = f"{kind}: {error}; this is a mistake in Tenure: please report it, with what TENURE_DEBUG=1 shows"
    return _line("internal", text, OUR_MISTAKE)


def _line(code: str, sentence: str, exit_code: int) -> int:
    # One line, whatever the sentence carries: logs are read line by line.
    click.echo(  # noqa: TID251 - styled, and made plain
        f"{click.style(f'error[{code}]', fg='red', bold=True)}: {one_line(' '.join(sentence.split()))}", err=True
    )
    return exit_code


def _sentence(error: TenureError) -> str:
    # A worker's traceback is no part of the sentence; `submit --wait` shows it above.
    notes = () if isinstance(error, TaskFailed) else getattr(error, "__notes__", ())
    return " ".join([str(error), *(f"({note})" for note in notes)])


def _reader_left() -> int:
    """`tenure messages | head`: the reader has seen enough. Python would complain at exit, about nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return TROUBLE


def _never_fail_on_a_character() -> None:
    """A terminal that knows no "·" shows a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _hold_back_logging() -> None:
    """A library's warnings are told by the command in its own words; `worker` installs real logging."""
    logging.getLogger("tenure").addHandler(logging.NullHandler())
