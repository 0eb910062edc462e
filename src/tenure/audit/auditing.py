"""The audit itself: files in, a report out. One file at a time; nothing a file contains can end it.

Most files of a project never speak of a queue. They are parsed, only so that a broken one is reported.
"""

import ast
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from tenure.audit.advice import advice
from tenure.audit.baseline import operations
from tenure.audit.catalogue import RULES
from tenure.audit.elsewhere import Elsewhere
from tenure.audit.ignoring import Comment, covering, ignoring_comments
from tenure.audit.leases import written
from tenure.audit.module import Module
from tenure.audit.region import Region, Text
from tenure.audit.report import Located, Operation, Report
from tenure.audit.rule import Hit, Rule
from tenure.audit.rules import CHECKS
from tenure.audit.source import Unreadable, python_files, read, without_tests
from tenure.finding import Finding

#: Words without which no rule can speak of a file: of queues, of tasks; of logs of what was done, and of writing them.
_QUEUES = re.compile(
    rb"(receive|delete|update|dequeue)_\w*message|visibility_?timeout|change_visibility|set_queue_attributes|"
    rb"create_queue|b?[lr]m?pop|xreadgroup|xautoclaim|xack|xclaim|send_message|xadd|delete_and_track|"
    rb"Queue(Service)?Client",
    re.IGNORECASE,
)
#: Each of them has one of these, in small letters: looking for plain words first is three times as fast.
_PARTS = (
    b"_message", b"visibility", b"lpop", b"rpop", b"lmpop", b"rmpop", b"xreadgroup", b"xautoclaim", b"xack", b"xclaim",
    b"xadd", b"delete_and_track", b"queueclient", b"queueserviceclient", b"set_queue_attributes", b"create_queue",
)  # fmt: skip
_FRAMEWORKS = re.compile(rb"^\s*(from|import)\s+(celery|dramatiq|rq)\b", re.MULTILINE)
_TASKS = re.compile(rb"\btenure\b[\s\S]*\.task\b")
_DONE = re.compile(rb"de_?dup|duplicat|idempot|processed|seen|handled|done|completed|message_?id", re.IGNORECASE)
_WRITTEN = re.compile(rb"upload_blob|put_object|write_text|write_bytes|open\(")


class FileReport(NamedTuple):
    """The findings and queue operations of one file."""

    findings: list[Located]
    operations: list[Operation]
    lines: int
    ignored: int


def audit(
    paths: Sequence[str],
    *,
    rules: Collection[str] = tuple(RULES),
    exclude: Sequence[str] = (),
    tests: bool = False,
    on_file: Callable[[int, int], None] = lambda _done, _all: None,
) -> Report:
    """Audit files and folders by these rules; `on_file` hears how many of how many are done.

    `tests`: Also test code below a folder. It loses messages on purpose, and no worker runs it. A test file that is
    named is read anyway.
    """
    every = python_files(paths, exclude)
    files = every if tests else without_tests(every, paths)
    found: list[FileReport] = []
    elsewhere = Elsewhere()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the parser, about escapes in other people's strings
        for done, path in enumerate(files):
            on_file(done, len(files))
            found.append(_audit_file(path, rules, elsewhere))
    on_file(len(files), len(files))
    return Report(
        findings=tuple(one for report in found for one in report.findings),
        operations=tuple(one for report in found for one in report.operations),
        files=len(files),
        lines=sum(report.lines for report in found),
        ignored=sum(report.ignored for report in found),
        tests_left_out=len(every) - len(files),
    )


def _audit_file(path: str, rules: Collection[str], elsewhere: Elsewhere) -> FileReport:
    try:
        source = read(path)
    except Unreadable as error:
        return _not_audited(path, str(error), 0, 1, rules)
    return audit_source(source, path, rules=rules, elsewhere=elsewhere)


def audit_source(
    source: bytes, path: str, *, rules: Collection[str] = tuple(RULES), elsewhere: Elsewhere | None = None
) -> FileReport:
    """Audit the text of one file. Without `elsewhere` nothing is looked up in the files that it imports from."""
    lines = source.count(b"\n") + (not source.endswith(b"\n"))
    try:
        return _audit_tree(ast.parse(source, path), source, path, lines, rules, elsewhere)
    except SyntaxError as error:
        return _not_audited(path, f"it does not parse: {error.msg}", lines, error.lineno or 1, rules)
    except (RecursionError, MemoryError):
        return _not_audited(path, "its expressions are nested too deeply", lines, 1, rules)
    except ValueError as error:  # null bytes, before Python 3.12
        return _not_audited(path, f"it does not parse: {error}", lines, 1, rules)


def _not_audited(path: str, reason: str, lines: int, line: int, rules: Collection[str]) -> FileReport:
    rule = RULES["TQ901"]
    located = _located(path, rule, path, reason, Region(max(1, line), 1, max(1, line), 1))
    return FileReport([located] if rule.id in rules else [], [], lines, 0)


def _audit_tree(
    tree: ast.Module, source: bytes, path: str, lines: int, rules: Collection[str], elsewhere: Elsewhere | None
) -> FileReport:
    comments = ignoring_comments(source)
    found = [_bad_comment(path, comment) for comment in comments if "TQ902" in rules and _is_bad(comment)]
    if not _may_concern(source):
        return FileReport(found + _unused(path, comments, rules, set()), [], lines, 0)
    module = Module(path, tree) if elsewhere is None else Module(path, tree, elsewhere.constant)
    text = Text(source)
    hits = [hit for check in CHECKS for hit in check(module) if hit.rule in rules]
    ignored = {hit: covered for hit in hits if (covered := _covering(hit, comments))}
    used = {(comment, hit.rule) for hit, covered in ignored.items() for comment in covered}
    found += [_of_hit(module, hit, text) for hit in hits if hit not in ignored]
    found += _unused(path, comments, rules, used)
    found.sort(key=lambda one: (one.line, one.column, one.finding.id))
    return FileReport(found, operations(module, text), lines, len(ignored))


def _may_concern(source: bytes) -> bool:
    small = source.lower()
    if any(part in small for part in _PARTS) and _QUEUES.search(source):
        return True
    if _FRAMEWORKS.search(source) or _TASKS.search(source):
        return True
    return _WRITTEN.search(source) is not None and _DONE.search(source) is not None


def _covering(hit: Hit, comments: list[Comment]) -> list[Comment]:
    return covering(hit.rule, hit.node.lineno, hit.node.end_lineno or hit.node.lineno, comments)


def _of_hit(module: Module, hit: Hit, text: Text) -> Located:
    rule = RULES[hit.rule]
    subject = written(hit.node.func if isinstance(hit.node, ast.Call) else hit.node)
    finding = Finding(rule.id, rule.severity, subject, hit.evidence, advice(module, hit, rule))
    return Located(finding, module.path, *text.region(hit.node))


def _is_bad(comment: Comment) -> bool:
    return not comment.ids or not comment.ids <= RULES.keys()


def _bad_comment(path: str, comment: Comment) -> Located:
    strange = ", ".join(sorted(comment.ids - RULES.keys()))
    evidence = f"there is no rule {strange}" if strange else "it names no rule in brackets"
    return _of_comment(path, "TQ902", comment, evidence)


def _unused(
    path: str, comments: list[Comment], rules: Collection[str], used: set[tuple[Comment, str]]
) -> list[Located]:
    """Comments with rules that were looked for and hid nothing."""
    found: list[Located] = []
    for comment in comments if "TQ903" in rules else []:
        idle = sorted(id for id in comment.ids if id in RULES and id in rules and (comment, id) not in used)
        if idle and "TQ903" not in comment.ids and not _is_bad(comment):
            verb = "find" if len(idle) > 1 else "finds"
            found.append(_of_comment(path, "TQ903", comment, f"{', '.join(idle)} {verb} nothing here"))
    return found


def _of_comment(path: str, rule: str, comment: Comment, evidence: str) -> Located:
    region = Region(comment.line, comment.column, comment.line, comment.column + len(comment.text))
    return _located(path, RULES[rule], comment.text, evidence, region)


def _located(path: str, rule: Rule, subject: str, evidence: str, region: Region) -> Located:
    return Located(Finding(rule.id, rule.severity, subject, evidence, rule.remedy), path, *region)
