"""The port of a Celery project: one module of Tenure's declarations, with notes.

project → body of each task, schedules, chains → the names they need → one text
"""

import ast
import re
from collections.abc import Iterator, Sequence

from tenure.audit import RULES, audit
from tenure.porting.beat import PortedSchedule, schedules_of
from tenure.porting.body import Body, PortedTask
from tenure.porting.chains import Chains
from tenure.porting.edits import quoted
from tenure.porting.names import Names, used_in
from tenure.porting.policy import is_acked_early
from tenure.porting.ported import Kind, Note, NotPortable, Ported, Send
from tenure.porting.project import File, Project, project_of
from tenure.porting.sends import Sends

_URLS = re.compile(r"(rediss?|redis\+socket)://")
_LOCAL = "sqlite:///tasks.db"
_OF_TENURE = ("Reject", "Retry", "SyncContext", "Tenure")
_WIDTH = 116


def port_celery(paths: Sequence[str]) -> Ported:
    """Read files and folders, and write their tasks for Tenure. Raises `NotPortable`; nothing is changed."""
    project = project_of(paths)
    if not project.tasks:
        where = ", ".join(paths)
        raise NotPortable(f"no task of Celery in {where}: none of {len(project.files)} Python files has a function "
                          "below @app.task or @shared_task")  # fmt: skip
    chains = Chains()
    sends = Sends(project, chains)
    tasks = [Body(task, project, sends).ported() for task in project.tasks.values()]
    elsewhere, notes_elsewhere = _sends_elsewhere(project, sends)
    schedules = list(schedules_of(project))
    notes = [note for one in tasks for note in one.notes]
    notes += [note for one in schedules for note in one.notes]
    general = list(_of_acks(project))
    notes += [*notes_elsewhere, *_of_classes(project), *general]
    return Ported(
        module=_module(project, tasks, schedules, chains, notes, general, elsewhere),
        tasks=tuple(project.tasks),
        schedules=tuple(one.name for one in schedules if one.text),
        notes=tuple(notes),
        sends=tuple(elsewhere),
        findings=audit(paths, rules=_rules()).findings,
        files=len(project.files),
    )


def _rules() -> list[str]:
    return [rule for rule in RULES if rule.startswith("TQ8")]


def _of_acks(project: Project) -> Iterator[Note]:
    early = [task for task in project.tasks.values() if is_acked_early(task, project)]
    if early:
        verb = "it" if len(early) == 1 else "them"
        text = (
            f"Celery acknowledges {verb} before the run: a crash loses {verb}, and never runs {verb} twice. Tenure "
            f"runs {verb} again after a crash: an effect must bear that, or use ctx.once"
        )
        names = ", ".join(task.name for task in early)
        yield Note(Kind.CHECK, names, early[0].file.module.path, early[0].function.lineno, text)


def _of_classes(project: Project) -> Iterator[Note]:
    for file, one in project.classes:
        text = "a task that is a class: make its run() a function below @app.task"
        yield Note(Kind.BY_HAND, one.name, file.module.path, one.lineno, text)


# -- calls in what is not carried over ------------------------------------------------------------------


def _sends_elsewhere(project: Project, sends: Sends) -> tuple[list[Send], list[Note]]:
    found: list[Send] = []
    notes: list[Note] = []
    tasks = {task.function for task in project.tasks.values()}
    for file in project.files:
        for call in file.module.calls:
            if any(one in tasks for one in file.module.around(call)):
                continue
            made = sends.rewritten(file, call, inside=False, text=_unparsed)
            if made is None:
                continue
            if made.why_not:
                before = " ".join(ast.unparse(call).split())
                notes.append(Note(Kind.BY_HAND, before[:60], file.module.path, call.lineno, made.why_not))
                continue
            found.append(Send(file.module.path, call.lineno, " ".join(ast.unparse(call).split()), made.text))
            notes += [Note(Kind.CHECK, made.text[:60], file.module.path, call.lineno, text) for text in made.check]
    return found, notes


def _unparsed(node: ast.AST) -> str:
    return ast.unparse(node)


# -- the text ---------------------------------------------------------------------------------------------


def _module(
    project: Project,
    tasks: list[PortedTask],
    schedules: list[PortedSchedule],
    chains: Chains,
    notes: list[Note],
    general: list[Note],
    elsewhere: list[Send],
) -> str:
    with_context = {one.task.name for one in tasks if one.takes_context}
    steps = chains.written({one.task.name: one.policy.decorator_of_step for one in tasks}, with_context)
    texts = [one.text for one in tasks]
    plans = [one.text for one in schedules if one.text]
    imports, definitions, placeholders = _needed(project, tasks)
    everything = "\n".join([*texts, *steps, *definitions.values(), *plans])
    parts = [
        _head(project, notes) + "\n\n" + _imports(everything, imports, has_steps=bool(steps)),
        _above(general, with_names=True) + _app(project),
    ]
    if steps:
        parts.append("#: The arguments of a later step of a chain.\nStep = tuple[list[Any], dict[str, Any]]")
    parts += [_placeholder(name) for name in sorted(placeholders)]
    parts += definitions.values()
    parts += [_above(one.notes) + one.text.rstrip() for one in tasks]
    parts += [step.rstrip() for step in steps]
    if schedules:
        parts.append(
            "\n".join(_above(list(one.notes)) + (one.text or f"# {one.name}: not carried over") for one in schedules)
        )
    if elsewhere:
        lines = [f"# {one.path}:{one.line}\n#   {one.before}\n#   {one.after}" for one in elsewhere]
        parts.append("# Calls to change, in the files that send:\n" + "\n".join(lines))
    return "\n\n\n".join(parts) + "\n"


def _head(project: Project, notes: list[Note]) -> str:
    by_hand = sum(note.kind is Kind.BY_HAND for note in notes)
    to_check = len(notes) - by_hand
    paths = sorted({task.file.module.path for task in project.tasks.values()})
    return (
        f'"""Tasks of {", ".join(paths)}, for Tenure: written by `tenure migrate celery`.\n\n'
        f'{to_check} notes to check and {by_hand} parts to write by hand stand at their places.\n"""'
    )


def _imports(everything: str, imports: list[str], *, has_steps: bool) -> str:
    used = used_in(everything)
    lines = []
    if "logging" in used and "import logging" not in imports:
        lines.append("import logging")
    if ("Any" in used or has_steps) and "from typing import Any" not in imports:
        lines.append("from typing import Any")
    names = ", ".join(name for name in _OF_TENURE if name in used or name == "Tenure")
    in_order = sorted({*lines, *imports}, key=lambda line: (line.startswith("from"), line))
    return "\n".join([*in_order, "", f"from tenure import {names}"]).lstrip("\n")


def _needed(project: Project, tasks: list[PortedTask]) -> tuple[list[str], dict[str, str], set[str]]:
    imports: dict[str, None] = {}
    definitions: dict[str, str] = {}
    origins: dict[str, File] = {}
    placeholders: set[str] = set()
    ported = {*project.tasks, *_OF_TENURE, "app", "ctx"}
    for file in project.files:
        texts = [one.text for one in tasks if one.task.file is file]
        if not texts:
            continue
        lines, found, of_celery = Names(file, ported).needed(texts)
        imports |= dict.fromkeys(lines)
        placeholders |= of_celery - {"Reject", "states", "shared_task"}
        for name, text in found.items():
            if name in definitions and definitions[name] != text:
                both = f"{origins[name].module.path} and {file.module.path}"
                raise NotPortable(f"{name} is defined in {both}, and differs. Name the files one at a time")
            definitions[name], origins[name] = text, file
    return list(imports), definitions, placeholders


def _app(project: Project) -> str:
    setting = project.settings.get("broker_url")
    url = None if setting is None else setting.module.constant(setting.value)
    if isinstance(url, str) and _URLS.match(url):
        return f"app = Tenure({quoted(url)})"
    return f"# Or redis://…, sqs://…, azure://…\napp = Tenure({quoted(_LOCAL)})"


def _placeholder(name: str) -> str:
    return f'class {name}(Exception):\n    """Celery\'s. Tenure never raises it."""'


def _above(notes: Sequence[Note], *, with_names: bool = False) -> str:
    """The notes as comments of at most a line's width."""
    lines: list[str] = []
    for note in notes:
        about = f"{note.about}: " if with_names else ""
        text = f"# {note.kind}: {about}{note.text}."
        while len(text) > _WIDTH:
            cut = text.rfind(" ", 0, _WIDTH)
            lines.append(text[:cut])
            text = f"#   {text[cut + 1 :]}"
        lines.append(text)
    return "".join(f"{line}\n" for line in lines)
