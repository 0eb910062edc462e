"""`tenure settings`: what is in force, and which variable says so."""

import pytest

from .conftest import Run, answer


def test_what_the_environment_says_is_shown_with_its_variable(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")
    monkeypatch.setenv("AZURE_STORAGE_CONTAINER_NAME", "documents")
    monkeypatch.setenv("CLIENT_ID", "southhaven")
    monkeypatch.setenv("SQS_VISIBILITY_TIMEOUT", "300")
    monkeypatch.setenv("TENURE_SECRET_KEY", "s" * 40)
    shown = tenure("settings").stdout
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines()[2:]}
    assert rows["url"] == ["azure://devstoreaccount1?create=yes", "AZURE_STORAGE_CONNECTION_STRING"]
    assert rows["container"] == ["documents", "AZURE_STORAGE_CONTAINER_NAME"]
    assert rows["client"] == ["southhaven", "CLIENT_ID"]
    assert rows["lease_seconds"] == ["300", "SQS_VISIBILITY_TIMEOUT"]
    assert rows["secret_key"] == ["…", "TENURE_SECRET_KEY"]
    assert "max_attempts" not in rows
    assert "sss" not in shown
    assert "max_attempts" in tenure("settings", "--all").stdout
    found = {one["name"]: one for one in answer(tenure("settings", "--json"))["settings"]}
    assert found["client"] == found["client"] | {
        "value": "southhaven",
        "source": "environment",
        "variable": "CLIENT_ID",
    }
    assert found["max_attempts"]["source"] == "default"


def test_every_mistake_is_reported(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "Not An Account")
    monkeypatch.setenv("SQS_VISIBILITY_TIMEOUT", "never")
    result = tenure("settings", "sqlite:///jobs.db")
    assert result.exit_code == 2
    assert "AZURE_STORAGE_ACCOUNT_NAME" in result.stderr
    assert "SQS_VISIBILITY_TIMEOUT" in result.stderr
