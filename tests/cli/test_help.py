"""The front door: help, version, and what it costs to open it."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import tenure as package
from tenure.cli.commands.client import client
from tenure.cli.commands.dead import dead
from tenure.cli.commands.findings import findings
from tenure.cli.commands.migrate import migrate
from tenure.cli.commands.monitoring import monitoring
from tenure.cli.commands.schedules import schedules
from tenure.cli.commands.timing import timing
from tenure.cli.commands.token import token
from tenure.cli.commands.webhooks import webhooks
from tenure.cli.commands.webhooks.endpoints import endpoints
from tenure.cli.commands.workers import workers
from tenure.cli.lazy import LazyGroup
from tenure.cli.root import root

from .conftest import Run

GROUPS: dict[str, LazyGroup] = {
    "dead": dead, "findings": findings, "monitoring": monitoring,
    "schedules": schedules, "timing": timing, "token": token, "workers": workers, "webhooks": webhooks,
    "webhooks endpoints": endpoints, "client": client, "migrate": migrate,
}  # fmt: skip


def test_help_names_every_command_and_the_exit_codes(tenure: Run) -> None:
    result = tenure("--help")
    assert result.exit_code == 0
    for word in (*root._table, "Exit codes", "130"):
        assert word in result.stdout


def test_help_fits_a_narrow_terminal(tenure: Run) -> None:
    inner = [[*group.split(), name] for group, table in GROUPS.items() for name in table._table]
    for words in ([], *([name] for name in root._table), *inner):
        widest = max(tenure(*words, "--help").stdout.splitlines(), key=len)
        assert len(widest) <= 80, widest


def test_no_command_at_all_shows_the_help(tenure: Run) -> None:
    assert tenure().stdout == tenure("--help").stdout
    assert tenure("token").stdout == tenure("token", "--help").stdout


@pytest.mark.parametrize("group", [root, *GROUPS.values()], ids=["tenure", *GROUPS])
def test_the_table_of_commands_says_what_the_commands_say(group: LazyGroup) -> None:
    context = click.Context(group)
    for name, (_, does) in group._table.items():
        command = group.get_command(context, name)
        assert command is not None
        assert command.short_help == does


def test_every_command_has_json(tenure: Run) -> None:
    inner = [[*group.split(), name] for group, table in GROUPS.items() for name in table._table]
    for command in [*([name] for name in root._table), *inner]:
        # Those of documents: tests/documents/test_command.py.
        if " ".join(command) in {*GROUPS, "documents"}:
            continue
        assert "--json" in tenure(*command, "--help").stdout, command


def test_a_mistyped_command_is_guessed(tenure: Run) -> None:
    result = tenure("quues")
    assert result.exit_code == 2
    assert "error[usage]: no command 'quues'; did you mean 'queues'?" in result.stderr


def test_version(tenure: Run) -> None:
    assert tenure("--version").stdout.startswith("tenure ")


def _cpu_seconds(*words: str) -> float:
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    before = os.times()
    subprocess.run([sys.executable, "-m", "tenure", *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def test_help_starts_quickly() -> None:
    # The claim is 0.3 s (`make bench` measures it); here only a mistake of another size shall fail.
    assert min(_cpu_seconds("--help") for _ in range(3)) < 0.6


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom tenure.cli.root import root\nroot.main(['--help'], standalone_mode=False)\n"
        "heavy = {'rich', 'sqlite3', 'tenure.runtime.worker', 'tenure.adapters.sqlite'}\n"
        "heavy.add('tenure.cli.commands.worker.worker')\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.DEVNULL)
