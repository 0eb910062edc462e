"""The reference says what the code says: every code, kind, setting, option, word and command, and nothing else."""

import ast
import inspect
import re
from types import ModuleType

import pytest

import tenure
from tenure import documents
from tenure.adapters.aws import options as aws_options
from tenure.adapters.aws.faults import BadQueueName, QueueMissing, RedriveTooSoon
from tenure.adapters.azure import options as azure_options
from tenure.adapters.redis import options as redis_options
from tenure.adapters.redis.faults import NotRedis, NotReplicated, ServerTooOld, TLSFailed
from tenure.adapters.sqlite import options as sqlite_options
from tenure.app import Tenure
from tenure.cli.failing import NotConfirmed
from tenure.config import _SETTINGS, Settings
from tenure.errors import BadURL
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.record import Record
from tenure.runtime.ownership.owned import UNKNOWN_TASK
from tenure.runtime.path.unknown_tasks import KNOWN_ELSEWHERE
from tenure.runtime.processes.child_process import ChildFailed
from tenure.server import errors as server_errors
from tenure.tasks.call import Options
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.task import BatchOptions
from tenure.timing.advice import IDS
from tenure.verdict import SNOOZED, Reject
from tenure.webhooks import webhook_target
from tenure.webhooks.deliver import DeliveryFailed, DeliveryStopped, DeliveryUndirected

from .command_page import page as command_page
from .markdown import ROOT

SOURCE = ROOT / "src" / "tenure"


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def _rows(text: str) -> list[list[str]]:
    """The cells of every row of every table that begins with a name, heads left out."""
    lines = text.splitlines()
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("|") and not below.startswith("|--")
    ]
    return [row for row in rows if row[0].startswith("`")]


def _names(text: str) -> list[str]:
    """What stands in the first column."""
    return [name for row in _rows(text) for name in re.findall(r"`([\w.]+)[^`]*`", row[0])]


# --- errors -----------------------------------------------------------------------------------------------


def _error_codes() -> dict[str, str]:
    """Every class of errors that has a code, found where it is written: not all are imported by everybody."""
    found: dict[object, str] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.bases:
                code = [one.value for one in node.body if isinstance(one, ast.Assign) and _is_named(one, "code")]
                found |= {value.value: node.name for value in code if isinstance(value, ast.Constant)}
    return {str(code): name for code, name in found.items()}


def _is_named(assignment: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in assignment.targets)


def test_every_error_is_in_the_reference_with_its_code() -> None:
    ours = _error_codes()
    assert len(ours) > 40
    assert all(ours[kind.code] == kind.__name__ for kind in (BadURL, ChildFailed, NotConfirmed))
    text = (
        _page("reference/errors.md")
        .split("\n## Why a message", maxsplit=1)[0]
        .split("\n## When something is set up")[1]
    )
    assert {row[0].strip("`"): row[1].strip("`") for row in _rows(text) if row[1]} == ours


def test_the_reference_says_where_each_error_is_imported_from() -> None:
    text = _section(_page("reference/errors.md"), "Where to import them from")
    groups = {
        module: set(re.findall(r"\w+", names))
        for module, names in re.findall(r"from ([\w.]+) import \((.*?)\)", text, re.DOTALL)
    }
    errors = {name for name, kind in vars(tenure.errors).items() if _is_error(kind)}
    assert groups["tenure"] == errors & set(tenure.__all__)
    assert groups["tenure.errors"] == errors - set(tenure.__all__)
    parents = {name: row[1].strip("`").split("`")[0] for row in _rows(text) for name in re.findall(r"`(\w+)`", row[0])}
    kinds = [NotRedis, NotReplicated, TLSFailed, ServerTooOld, BadQueueName]
    kinds += [QueueMissing, RedriveTooSoon, ChildFailed]
    assert parents == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds}
    of_commands = _names_of_errors(_section(_page("reference/errors.md"), "On the command line"))
    of_server = {name for name, kind in vars(server_errors).items() if _is_error(kind)} - errors
    assert _names_of_errors(_section(_page("reference/errors.md"), "Of the server")) == of_server
    of_documents = _names_of_errors(_section(_page("reference/errors.md"), "Of documents"))
    assert of_documents <= set(documents.__all__)
    found = errors - {"TenureError"} | parents.keys() | of_commands | of_server | of_documents
    assert set(_error_codes().values()) == found


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, tenure.TenureError)


def _names_of_errors(text: str) -> set[str]:
    return {row[1].strip("`") for row in _rows(text)} - {""}


def _reason_codes() -> set[str]:
    """Every code that a worker or a store gives as the reason of something, found where it is given."""
    codes = set()
    folders = ("rules/*.py", "runtime/**/*.py", "rowstore/*.py", "adapters/**/*.py")
    for path in (path for folder in folders for path in SOURCE.glob(folder)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    codes.add(str(first.value))
    return codes


def test_every_reason_is_in_the_reference() -> None:
    listed = _names(_section(_page("reference/errors.md"), "Why a message failed, died or went back"))
    assert len(listed) == len(set(listed))
    literal = _reason_codes()
    assert len(literal) > 15
    assert literal <= set(listed)
    # These are given under the code of the error that is their cause.
    caused = {"broker_unavailable", "child_failed", "result_invalid", "result_too_large"}
    scripted = {"malformed_entry"}  # by scripts on a server
    named = {UNKNOWN_TASK, KNOWN_ELSEWHERE, SNOOZED, Reject.code}  # by a constant
    named |= {kind.code for kind in (DeliveryFailed, DeliveryStopped, DeliveryUndirected)}
    named |= {webhook_target.REFUSED, webhook_target.UNREADABLE}
    assert set(listed) - literal == caused | scripted | named
    assert caused <= _error_codes().keys()


# --- events, settings -------------------------------------------------------------------------------------


def test_every_event_is_in_the_reference() -> None:
    assert sorted(_names(_page("reference/events.md"))) == sorted(kind.value for kind in EventKind)


def test_every_setting_is_in_the_reference_with_what_it_takes() -> None:
    text = _page("reference/settings.md").split("\n## Places")[0]
    rows = {row[0].strip("`"): row for row in _rows(text)}
    assert rows.keys() == {setting.names[0] for setting in _SETTINGS}
    default = Settings()
    for setting in _SETTINGS:
        row = rows[setting.names[0]]
        assert [f"`{name}`" for name in setting.names[1:]] == ([row[1]] if row[1] else []), row
        assert row[2] == setting.allowed or setting.field == "url", row
        value = getattr(default, setting.field)
        shown = row[3].strip("`")
        if value in (None, ()) or isinstance(value, str):
            assert shown == (value or "none"), row
        else:
            assert setting.read(shown) == value, row


@pytest.mark.parametrize(
    ("above", "options"),
    [
        ("A SQLite URL may say more", sqlite_options),
        ("And a Redis URL", redis_options),
        ("And an SQS URL", aws_options),
        ("And an Azure URL", azure_options),
    ],
    ids=["sqlite", "redis", "sqs", "azure"],
)
def test_what_a_url_may_say_is_in_the_reference(above: str, options: ModuleType) -> None:
    text = re.split(r"(?<=\|)\n\n", _page("reference/settings.md").split(above)[1])[0]
    assert {row[0].strip("`"): row[1] for row in _rows(text)} == options._TAKEN


# --- options, context, record ------------------------------------------------------------------------------


def _parameters(function: object) -> set[str]:
    assert callable(function)
    kept = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return {parameter.name for parameter in kept} - {"self", "call"}


def test_every_option_is_in_the_reference() -> None:
    page = _page("reference/options.md")
    for title, known in (
        ("Of a task", set(BatchOptions.__annotations__)),
        ("Of one message", set(Options.__annotations__)),
        ("Of a schedule", _parameters(Tenure.schedule)),
        ("Of an app", _parameters(Tenure.__init__)),
        ("Of a worker", _parameters(Tenure.worker)),
    ):
        listed = _names(_section(page, title))
        assert sorted(listed) == sorted(known), title


def test_the_reference_says_where_each_option_can_be_given() -> None:
    rows = _rows(_section(_page("reference/options.md"), "What can be given where"))
    places = {name: row[1:] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert places.keys() == BatchOptions.__annotations__.keys() | Options.__annotations__.keys()
    for name, (app, task, message) in places.items():
        assert task.startswith("yes") == (name in BatchOptions.__annotations__), name
        assert message.startswith("yes") == (name in Options.__annotations__), name
        variable = f"TENURE_{name.upper()}"
        assert (variable in app) == any(variable in setting.names for setting in _SETTINGS), name


def test_every_word_of_the_context_is_in_the_reference() -> None:
    listed = _names(_page("reference/context.md").split("\n## ")[0])
    words = {name for kind in (Context, SyncContext) for name in dir(kind) if not name.startswith("_")}
    assert sorted(listed) == sorted(words)


def test_what_a_status_says_is_a_word_of_the_record() -> None:
    page = _page("how-to/cancel-and-inspect.md")
    listed = _names(page)
    assert len(listed) > 5
    assert all(hasattr(Record, name) or name in Record.__struct_fields__ for name in listed)
    (states,) = (row[1] for row in _rows(page) if row[0] == "`state`")
    assert re.findall(r"\w+", states.replace(" or ", " ")) == [state.value for state in MessageState]


# --- commands, words --------------------------------------------------------------------------------------


def test_the_page_of_the_command_line_is_made_from_the_commands() -> None:
    assert _page("reference/cli.md") == command_page(), "python tests/docs/command_page.py > docs/reference/cli.md"


def test_the_glossary_has_the_words_of_the_map_and_is_in_order() -> None:
    words = [line.split(" | ")[0].strip("| ") for line in _page("glossary.md").splitlines() if line.startswith("| ")][
        1:
    ]
    assert words == sorted(words)
    nouns = re.findall(r"^\| ([A-Z][\w, ]+) \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
    wanted = {noun.lower() for row in nouns for noun in row.split(", ")}
    inner = {"state", "verdict", "settlement", "sweeper", "finding"}  # of the code's inside, not of its users
    known = {part for word in words for part in word.split(", ")}
    assert len(wanted) > 10
    assert wanted - inner <= known
    assert {state.value for state in MessageState} <= known


def test_every_finding_on_leases_is_on_the_page_that_tells_what_to_do() -> None:
    assert sorted(_names(_section(_page("how-to/tune-leases.md"), "The findings"))) == sorted(IDS)
