"""Settings from the environment as existing deployments name it."""

import pytest
from azure.storage.queue import QueueClient

from tenure.errors import BadSetting
from tenure.standalone import StorageQueueConfig

ENVIRONMENT = {
    "AZURE_STORAGE_ACCOUNT_NAME": " contentstore ",
    "STORAGE_QUEUE_NAME": "articles",
    "CONTAINER_NAME": "site-publisher",
}


def test_everything_is_read() -> None:
    config = StorageQueueConfig.from_environment(environment=ENVIRONMENT)
    assert (config.storage_account_name, config.queue_name, config.visibility_timeout) == (
        "contentstore",
        "articles",
        180,
    )
    assert (config.max_wait_time, config.max_messages, config.retry_attempts) == (1, 10, 3)
    assert config.account_url == "https://contentstore.queue.core.windows.net"


def test_the_name_that_is_passed_wins() -> None:
    assert StorageQueueConfig.from_environment("others", ENVIRONMENT).queue_name == "others"


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "STORAGE_QUEUE_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONTAINER_NAME", "content-processor")
    config = StorageQueueConfig.from_environment()
    assert (config.queue_name, config.visibility_timeout) == ("content-processing-requests", 90)
    with pytest.raises(BadSetting, match="AZURE_STORAGE_ACCOUNT_NAME is not set"):
        _ = config.account_url


def test_a_service_without_a_profile_has_30_seconds(caplog: pytest.LogCaptureFixture) -> None:
    assert StorageQueueConfig.from_environment(environment={}).visibility_timeout == 30
    assert StorageQueueConfig.from_environment(environment={"CONTAINER_NAME": "mine"}).visibility_timeout == 30
    assert not caplog.records


@pytest.mark.parametrize("name", ["ab", "UPPER", "two--dashes", "-dash", "dash-", "with_line", "x" * 64])
def test_names_that_azure_refuses_are_refused_here_all_at_once(name: str) -> None:
    with pytest.raises(BadSetting, match=r"STORAGE_QUEUE_NAME=.*; AZURE_STORAGE_ACCOUNT_NAME="):
        StorageQueueConfig.from_environment(
            environment={"STORAGE_QUEUE_NAME": name, "AZURE_STORAGE_ACCOUNT_NAME": "No-Account"}
        )


@pytest.mark.parametrize(
    "said", ["UseDevelopmentStorage=true", "UseDevelopmentStorage=true;", "usedevelopmentstorage=True"]
)
def test_development_storage_is_azurite(said: str) -> None:
    config = StorageQueueConfig.from_environment(environment={"AZURE_STORAGE_CONNECTION_STRING": said})
    assert config.storage_account_name == "devstoreaccount1"
    assert config.account_url == "http://127.0.0.1:10001/devstoreaccount1"
    with QueueClient.from_connection_string("UseDevelopmentStorage=true", "articles") as client:
        assert client.url == f"{config.account_url}/articles", "as the SDK reads it"


def test_a_connection_string_names_the_account_unless_the_account_is_set() -> None:
    said = {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.windows.net"}
    assert StorageQueueConfig.from_environment(environment=said).account_url == "https://acme.queue.core.windows.net"
    both = said | {"AZURE_STORAGE_ACCOUNT_NAME": "other"}
    assert StorageQueueConfig.from_environment(environment=both).storage_account_name == "other"
