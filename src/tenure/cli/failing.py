"""The end of a command: an exit code, and for an error one line with a stable code. Never a traceback.

Under `--json` that line is a JSON object (docs/reference/json.md), also where the words do not fit the command.

0    done
1    the broker is in trouble, or what was waited for or asked for did not come about, or something was found
2    bad input or configuration
70   a bug in Tenure itself
130  interrupted
"""

import io
import logging
import os
import sys
from collections.abc import Callable

import click
import msgspec

from tenure.cli.terminal.colour import wants_colour
from tenure.cli.terminal.plain import one_line, plain_json
from tenure.errors import BadMessage, ConfigurationError, GroupNotFound, MessageNotFound, TaskFailed, TenureError
from tenure.text.remedy import codes_of, remedy_for

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


class NotConfirmed(ConfigurationError):
    """An act on many messages that was not confirmed."""

    code = "not_confirmed"


class NotCancelled(TenureError):
    """Some of the messages were finished before they could be cancelled."""

    code = "not_cancelled"


class Interruption(KeyboardInterrupt):
    """Ctrl-C in a command that knows how far it came. `remedy` is a key of `text/remedy.py`."""

    def __init__(self, message: str, remedy: str) -> None:
        """Say `message` under `--json`."""
        super().__init__(message)
        self.remedy = remedy


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error, as `--json` prints it."""

    code: str
    message: str
    remedy: str
    exit_code: int
    #: For a failed task: the worker's traceback.
    traceback: str | None = None


def ending(run: Callable[[], object], *, as_json: bool = False) -> int:
    """Run a command; the code to exit with. Says on standard error what went wrong, with `as_json` as JSON."""
    _hold_back_logging()
    _never_fail_on_a_character()
    try:
        answer = run()
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt) as error:
        if as_json:
            pressed = error.__cause__ if isinstance(error, click.Abort) else error  # click puts its own before it
            remedy = remedy_for(pressed.remedy if isinstance(pressed, Interruption) else "interrupted")
            message = str(error) or str(pressed or "") or "interrupted"
            _say_json(_Failure(code="interrupted", message=message, remedy=remedy, exit_code=INTERRUPTED))
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # the last handler: what passes it is a traceback on a user's screen
        if os.environ.get("TENURE_DEBUG"):
            raise
        failure = _of(error)
        if as_json:
            _say_json(failure)
        else:
            _say_line(failure, error)
        return failure.exit_code
    return answer if isinstance(answer, int) else DONE


def _of(error: Exception) -> _Failure:
    match error:
        case click.ClickException():
            return _failure("usage", error.format_message(), BAD_INPUT)
        case TenureError():
            bad_input = isinstance(error, ConfigurationError | BadMessage | MessageNotFound | GroupNotFound)
            trace = error.remote_traceback if isinstance(error, TaskFailed) else None
            exit_code = BAD_INPUT if bad_input else TROUBLE
            return _failure(error.code, _sentence(error), exit_code, *codes_of(error), traceback=trace or None)
        case PermissionError():
            what = f"this user may not use {error.filename or 'a file'} ({error.strerror})"
            advice = "Check the permissions of the file and its folders, or do this as another user"
            return _failure("permission_denied", f"{what}; the command was ended there. {advice}", TROUBLE)
        case UnicodeEncodeError():
            # Arguments that are not UTF-8 come in as lone surrogates, and fail where they are stored.
            return _failure("usage", f"{error.object!r} is not UTF-8 text; nothing was changed", BAD_INPUT)
    kind = type(error).__name__
    text = f"{kind}: {error}; this is a bug in Tenure: please report it, with what TENURE_DEBUG=1 shows"
    return _failure("internal", text, OUR_MISTAKE)


def _failure(code: str, sentence: str, exit_code: int, *codes: str, traceback: str | None = None) -> _Failure:
    message = " ".join(sentence.split())
    remedy = remedy_for(code, *codes)
    return _Failure(code=code, message=message, remedy=remedy, exit_code=exit_code, traceback=traceback)


def _say_json(failure: _Failure) -> None:
    # File names that are no UTF-8 are lone surrogates in Python.
    said = {name: _text(value) for name, value in msgspec.structs.asdict(failure).items()}
    click.echo(plain_json(msgspec.json.encode({"error": said})), err=True)  # noqa: TID251 - made plain


def _text(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _say_line(failure: _Failure, error: Exception) -> None:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)  # noqa: TID251 - our own words
    # One line, whatever the sentence carries: logs are read line by line.
    code = f"error[{failure.code}]"
    head = click.style(code, fg="red", bold=True) if wants_colour(sys.stderr) else code
    # The colour is decided here: click would give it to every terminal, whatever NO_COLOR says.
    click.echo(f"{head}: {one_line(failure.message)}", err=True, color=True)  # noqa: TID251 - made plain


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
    """The command reports a library's warnings itself; `worker` installs real logging."""
    logging.getLogger("tenure").addHandler(logging.NullHandler())
