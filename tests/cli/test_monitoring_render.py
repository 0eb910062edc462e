"""`tenure monitoring render`: files for other systems, printed or written."""

import json
from pathlib import Path

import pytest
import yaml
from tests.docs.monitoring_files import FOLDER

from tenure.monitoring.render import TARGETS

from .conftest import Run, answer


@pytest.mark.parametrize("target", TARGETS)
def test_the_files_of_a_target_are_those_of_the_source(tenure: Run, folder: Path, target: str) -> None:
    done = tenure("monitoring", "render", target, "--out", "there")
    written = {path.relative_to("there"): path.read_text() for path in Path("there").rglob("*") if path.is_file()}
    shipped = FOLDER / target
    assert written == {path.relative_to(shipped): path.read_text() for path in shipped.rglob("*") if path.is_file()}
    files = f"{len(written)} file{'' if len(written) == 1 else 's'}"
    assert done.stdout == f"Wrote {files} into there.\n"


def test_the_targets_of_the_command_are_those_that_there_are(tenure: Run) -> None:
    shown = tenure("monitoring", "render", "--help").stdout
    assert [name for name in TARGETS if name not in shown] == []
    wrong = tenure("monitoring", "render", "datadog")
    assert wrong.exit_code == 2
    assert "'grafana'" in wrong.stderr


def test_several_files_are_printed_below_one_another_with_their_names(tenure: Run) -> None:
    printed = tenure("monitoring", "render", "kql", "--tables", "workspace").stdout
    assert printed.startswith("// == workspace/processing-duration.kql\n")
    assert "// == workspace/findings.kql\n" in printed
    assert "customEvents" not in printed


def test_one_file_is_printed_as_it_is(tenure: Run) -> None:
    name = "workspace/message-timeline.kql"
    assert tenure("monitoring", "render", "kql", "--file", name).stdout == (FOLDER / "kql" / name).read_text()


def test_rules_can_be_piped_into_a_file_and_the_others_are_named(tenure: Run) -> None:
    done = tenure("monitoring", "render", "prometheus")
    assert list(yaml.safe_load(done.stdout)) == ["groups"]
    assert done.stdout == tenure("findings", "rules").stdout
    assert "tenure.inhibit.yml" in done.stderr
    others = tenure("monitoring", "render", "prometheus", "--file", "tenure.inhibit.yml").stdout
    assert others == tenure("findings", "rules", "--alertmanager").stdout


def test_a_dashboard_is_json_also_for_programs(tenure: Run) -> None:
    printed = tenure("monitoring", "render", "grafana").stdout
    assert json.loads(printed)["title"] == "Tenure"
    told = answer(tenure("monitoring", "render", "grafana", "--json"))
    assert (told["target"], told["folder"], told["files"][0]["name"]) == ("grafana", None, "tenure.json")
    assert told["files"][0]["text"] == printed


def test_thresholds_and_the_address_of_a_server_come_from_the_settings(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_ALERTS", "duplicates.page=0.3")
    monkeypatch.setenv("TENURE_PUBLIC_URL", "https://tenure.example.com")
    for target in ("terraform-azure", "terraform-aws"):
        printed = tenure("monitoring", "render", target).stdout
        assert "= 0.3\n" in printed
        assert "https://tenure.example.com/runbooks" in printed


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["grafana", "--tables", "workspace"], "--tables is for kql and terraform-azure"),
        (["kql", "--file", "workspace/message-timelin.kql"], "did you mean workspace/message-timeline.kql?"),
        (["terraform-aws", "--file", "x"], "there are: findings.tf, main.tf, queries.tf, variables.tf, versions.tf"),
    ],
)
def test_what_cannot_be_rendered_says_what_can(tenure: Run, words: list[str], told: str) -> None:
    done = tenure("monitoring", "render", *words)
    assert done.exit_code == 2
    assert "error[bad_argument]" in done.stderr
    assert told in done.stderr


def test_a_folder_that_cannot_be_written_is_named(tenure: Run, folder: Path) -> None:
    Path("file").write_text("")
    done = tenure("monitoring", "render", "grafana", "--out", "file/below")
    assert done.exit_code == 2
    assert "file/below cannot be written" in done.stderr
