"""The hook for other repositories' pre-commit."""

import shlex
from pathlib import Path

from click.testing import CliRunner
from pre_commit.clientlib import load_manifest  # type: ignore[import-untyped]

from tenure.cli.root import root

ROOT = Path(__file__).parents[2]


def test_the_hook_is_one_that_pre_commit_takes_and_that_runs(tmp_path: Path) -> None:
    (hook,) = load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    assert hook["id"] == "tenure-audit"
    assert hook["types"] == ["python"]
    name, *words = shlex.split(hook["entry"])
    assert name == "tenure"
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text('q.receive_message(QueueUrl="u", VisibilityTimeout=9)\n')
    assert CliRunner().invoke(root, [*words, str(tmp_path / "a.py")]).exit_code == 0
    assert CliRunner().invoke(root, [*words, str(tmp_path / "a.py"), str(tmp_path / "b.py")]).exit_code == 1
