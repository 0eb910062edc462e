"""The files of deploy/monitoring are those that are rendered now, and each is named in the catalogue's words."""

import pytest
from tests.docs.monitoring_files import FOLDER, files, specs

from tenure.monitoring.alerting.thresholds import changed
from tenure.monitoring.render import TARGETS, Tables, rendered

_FILES = {f"{target}/{one.name}": one.text for target, one in files()}


@pytest.mark.parametrize("name", _FILES)
def test_the_committed_file_is_as_it_is_rendered_now(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == _FILES[name], "make reference"


def test_no_other_file_lies_there() -> None:
    there = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    assert there == set(_FILES)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_rendered_names_no_host_but_this_machine(target: str) -> None:
    for one in rendered(target, specs()):
        assert [word for word in one.text.split() if "://" in word and "://127.0.0.1" not in word] == []


def test_changed_thresholds_and_the_address_of_a_server_are_in_every_target_with_alerts() -> None:
    others = changed(specs(), ["duplicates.page=0.3:0.1", "oldest_age=off"])
    for target in ("prometheus", "terraform-azure", "terraform-aws"):
        text = "".join(one.text for one in rendered(target, others, public_url="https://tenure.example.com/"))
        assert "0.3" in text
        assert "oldest_age" not in text
        assert "https://tenure.example.com/runbooks" in text


def test_one_form_of_tables_has_no_name_of_the_other() -> None:
    own = {Tables.APPLICATION_INSIGHTS: "customDimensions", Tables.WORKSPACE: "AppMetrics"}
    for target in ("kql", "terraform-azure"):
        for tables, other in ((tables, own[next(one for one in Tables if one is not tables)]) for tables in Tables):
            text = "".join(one.text for one in rendered(target, specs(), tables=tables))
            assert own[tables] in text
            assert other not in text
