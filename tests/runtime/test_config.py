"""Settings: what the environment says, with every mistake reported at once."""

import pytest

from tenure.config import Settings, settings_from
from tenure.errors import BadSetting


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = settings_from({})
    assert settings == Settings()
    assert (settings.lease_seconds, settings.max_attempts, settings.sweep_batch) == (30.0, 3, 100)
    assert (settings.sweep_interval_seconds, settings.client) == (5.0, "default")


def test_every_setting_can_be_set() -> None:
    environment = {
        "TENURE_URL": "sqlite:///jobs.db", "TENURE_CLIENT": "acme-2", "TENURE_LEASE": "45.5",
        "TENURE_MAX_ATTEMPTS": "7", "TENURE_SWEEP_BATCH": "50", "TENURE_SWEEP_INTERVAL": "2",
        "TENURE_CONCURRENCY": "200", "TENURE_GRACE": "0",
    }  # fmt: skip
    assert settings_from(environment) == Settings(
        url="sqlite:///jobs.db", client="acme-2", lease_seconds=45.5, max_attempts=7, sweep_batch=50,
        sweep_interval_seconds=2.0, concurrency=200, grace_seconds=0.0,
    )  # fmt: skip


def test_the_names_of_existing_deployments_are_read_too() -> None:
    environment = {
        "ACK_TIMEOUT_SECONDS": "60", "MAX_ATTEMPTS": "4", "REQUEUE_BATCH_SIZE": "20",
        "OVERDUE_CHECK_INTERVAL_MS": "2500", "CLIENT_ID": "acme",
    }  # fmt: skip
    assert settings_from(environment) == Settings(
        lease_seconds=60.0, max_attempts=4, sweep_batch=20, sweep_interval_seconds=2.5, client="acme"
    )


@pytest.mark.parametrize(
    ("own", "other", "field"),
    [
        ("TENURE_LEASE", "ACK_TIMEOUT_SECONDS", "lease_seconds"),
        ("TENURE_SWEEP_INTERVAL", "OVERDUE_CHECK_INTERVAL_MS", "sweep_interval_seconds"),
    ],
)
def test_our_own_name_wins_over_the_other(own: str, other: str, field: str) -> None:
    settings = settings_from({own: "7", other: "60000"})
    assert getattr(settings, field) == 7.0


def test_an_empty_value_is_no_value() -> None:
    assert settings_from({"TENURE_LEASE": "  ", "ACK_TIMEOUT_SECONDS": "60"}).lease_seconds == 60.0


def test_spaces_around_a_value_do_not_matter() -> None:
    assert settings_from({"TENURE_CONCURRENCY": " 5 "}).concurrency == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TENURE_LEASE", "soon"),
        ("TENURE_LEASE", "0"),
        ("TENURE_LEASE", "nan"),
        ("TENURE_LEASE", "1e99"),
        ("TENURE_MAX_ATTEMPTS", "0"),
        ("TENURE_MAX_ATTEMPTS", "2.5"),
        ("TENURE_SWEEP_BATCH", "1001"),
        ("OVERDUE_CHECK_INTERVAL_MS", "10"),
        ("TENURE_CONCURRENCY", "-1"),
        ("TENURE_GRACE", "-0.1"),
        ("TENURE_CLIENT", "Acme"),
        ("TENURE_CLIENT", "a--b"),
        ("TENURE_CLIENT", "-a"),
        ("TENURE_CLIENT", "naïve"),
        ("CLIENT_ID", "a/b"),
    ],
)
def test_a_mistake_names_the_variable_its_value_and_what_is_allowed(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as caught:
        settings_from({name: value})
    assert f"{name}={value!r} is not allowed; it takes " in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    environment = {"TENURE_LEASE": "x", "MAX_ATTEMPTS": "y", "TENURE_CONCURRENCY": "z", "TENURE_GRACE": "5"}
    with pytest.raises(BadSetting) as caught:
        settings_from(environment)
    said = str(caught.value)
    assert all(f"{name}=" in said for name in ("TENURE_LEASE", "MAX_ATTEMPTS", "TENURE_CONCURRENCY"))
    assert "TENURE_GRACE" not in said


# --- the storage account of an existing deployment --------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}, "azure://devstoreaccount1?create=yes"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "AccountName=shop;AccountKey=a2V5"}, "azure://shop"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "QueueEndpoint=https://shop.queue.core.windows.net/;"
          "SharedAccessSignature=sv=1"}, "azure://shop"),
        ({"AZURE_STORAGE_ACCOUNT_NAME": "shop"}, "azure://shop"),
        ({"AZURE_STORAGE_ACCOUNT_NAME": "shop", "TENURE_URL": "sqlite:///jobs.db"}, "sqlite:///jobs.db"),
        ({"AZURE_STORAGE_ACCOUNT_NAME": "shop", "AZURE_STORAGE_CONNECTION_STRING": "AccountName=shop"}, "azure://shop"),
    ],
)  # fmt: skip
def test_the_environment_of_an_azure_deployment_names_the_store(environment: dict[str, str], url: str) -> None:
    assert settings_from(environment).url == url


def test_the_timeout_of_an_sqs_deployment_is_the_lease() -> None:
    assert settings_from({"SQS_VISIBILITY_TIMEOUT": "300"}).lease_seconds == 300.0
    assert settings_from({"SQS_VISIBILITY_TIMEOUT": "300", "TENURE_LEASE": "60"}).lease_seconds == 60.0


def test_every_mistake_of_such_an_environment_is_reported_with_its_variable_and_no_secret() -> None:
    with pytest.raises(BadSetting) as raised:
        settings_from({
            "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=c2VjcmV0", "AZURE_STORAGE_CONTAINER_NAME": "My_Documents",
            "SQS_VISIBILITY_TIMEOUT": "50000", "CLIENT_ID": "South Haven",
        })  # fmt: skip
    text = str(raised.value)
    for name in (
        "AZURE_STORAGE_CONNECTION_STRING=…", "AZURE_STORAGE_CONTAINER_NAME='My_Documents'",
        "SQS_VISIBILITY_TIMEOUT='50000'", "CLIENT_ID='South Haven'",
    ):  # fmt: skip
        assert name in text
    assert "c2VjcmV0" not in text


def test_two_accounts_are_one_too_many() -> None:
    environment = {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=shop", "AZURE_STORAGE_ACCOUNT_NAME": "other"}
    with pytest.raises(BadSetting, match="'other' is not the account of AZURE_STORAGE_CONNECTION_STRING"):
        settings_from(environment)
    assert settings_from({**environment, "TENURE_URL": "azure://shop"}).url == "azure://shop"
