"""The typed front door, as a user's type checker sees it: what is right is accepted, what is wrong is refused.

The modules beside this one are users' code. In those named `accepted_…` neither mypy nor pyright, both strict, may find
anything. In those named `refused_…` each line that must be an error says so, with the word of each checker:

    await resize.submit(17)  # expect: arg-type | reportArgumentType

Exactly the marked lines must be errors. One of them may have further errors that come of the first.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ACCEPTED = sorted(HERE.glob("accepted_*.py"))
REFUSED = sorted(HERE.glob("refused_*.py"))
MODULES = [*ACCEPTED, *REFUSED]
MARK = re.compile(r"# expect: (?P<mypy>[\w-]+) \| (?P<pyright>\w+)$")

#: Where, as `file:line`, and what: the checker's words for it and its sentences.
Errors = dict[str, dict[str, str]]


def _marked(checker: str) -> dict[str, str]:
    """The lines that must be errors, and the checker's word for each."""
    lines = ((path, number, line) for path in MODULES for number, line in enumerate(_lines(path), start=1))
    marks = ((path, number, MARK.search(line)) for path, number, line in lines)
    return {f"{path.name}:{number}": mark[checker] for path, number, mark in marks if mark}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _run(*command: str) -> str:
    """What a checker of this environment prints; it exits with 1 where it found errors, and with more if it failed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=HERE, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _mypy() -> Errors:
    found: Errors = defaultdict(dict)
    # No settings but these: the project's own are not its users'.
    words = ["--strict", "--python-version=3.11", "--config-file=", f"--cache-dir={os.devnull}", "--output=json"]
    for line in _run("mypy", *words, *(path.name for path in MODULES)).splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            found[f"{error['file']}:{error['line']}"][error["code"]] = error["message"]
    return found


def _pyright() -> Errors:
    found: Errors = defaultdict(dict)
    # Given this, it asks no network for its latest release. Node comes from the environment's own packages.
    report = json.loads(_run("pyright", "--outputjson", f"--pythonpath={sys.executable}"))
    assert report["summary"]["filesAnalyzed"] == len(MODULES)
    for error in report["generalDiagnostics"]:
        where = f"{Path(error['file']).name}:{error['range']['start']['line'] + 1}"
        found[where][error.get("rule", "")] = error["message"]
    return found


def _compare(found: Errors, marked: dict[str, str]) -> None:
    assert {where: found[where] for where in found.keys() - marked.keys()} == {}, "refused, and is right"
    assert sorted(marked.keys() - found.keys()) == [], "accepted, and is wrong"
    other = {where: found[where] for where, word in marked.items() if word not in found[where]}
    assert other == {}, "refused, for another reason"


def test_mypy_refuses_the_marked_lines_and_no_others() -> None:
    _compare(_mypy(), _marked("mypy"))


def test_pyright_refuses_the_marked_lines_and_no_others() -> None:
    _compare(_pyright(), _marked("pyright"))


def test_every_refused_module_has_marks_and_no_accepted_one_has() -> None:
    marked = {where.partition(":")[0] for where in _marked("mypy")}
    assert marked == {path.name for path in REFUSED}
    wrong = [path.name for path in MODULES for line in _lines(path) if "# expect" in line and not MARK.search(line)]
    assert wrong == [], "marks that cannot be read"


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_what_checkers_accept_the_app_accepts(path: Path) -> None:
    made: dict[str, Any] = runpy.run_path(str(path))
    assert made["app"].tasks
