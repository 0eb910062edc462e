"""Every kind of place that an app can have, by a URL that nobody else has used; with servers that need no account."""

import json
import os
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from azure.storage.queue import QueueClient
from tests.servers.aws import shared_aws
from tests.servers.azure import ACCOUNT, KEY, shared_azure
from tests.servers.shared import shared

#: Those to which others can send too.
CLOUDS = ("ministack", "fauxqs", "azurite")
PLACES = ("memory", "sqlite", "valkey9", *CLOUDS)
_AWS = {"region_name": "eu-west-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


class Place:
    """One place. `url` is for an app."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._name = f"t{os.urandom(6).hex()}"
        self.url = self._url(folder)

    def _url(self, folder: Path) -> str:
        match self.kind:
            case "memory":
                return f"memory://{self._name}"
            case "sqlite":
                return f"sqlite:///{folder}/{self._name}.db"
            case "valkey9":
                return f"{shared('valkey9').url}?prefix={self._name}"
            case "azurite":
                return shared_azure().url(self._name)
        server = shared_aws(self.kind).url
        return (
            f"sqs://eu-west-1?endpoint={server}&prefix={self._name}-&table={self._name}&create=yes{self._state(folder)}"
        )

    def _state(self, folder: Path) -> str:
        return "" if self.kind == "ministack" else f"&state=sqlite:///{folder}/{self._name}.db"

    def send_as_others_do(self, queue: str, body: dict[str, Any]) -> None:
        """Without Tenure, by the SDK of the place."""
        name, text = f"{self._name}-{queue}", json.dumps(body)
        if self.kind == "azurite":
            credential = {"account_name": ACCOUNT, "account_key": KEY}
            with QueueClient(shared_azure().endpoint("queue"), name, credential=credential) as client:
                client.create_queue()
                client.send_message(text)
            return
        sqs = boto3.client("sqs", endpoint_url=shared_aws(self.kind).url, **_AWS)
        sqs.send_message(QueueUrl=sqs.create_queue(QueueName=name)["QueueUrl"], MessageBody=text)
        sqs.close()


def place_for(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place that is not there yet, and what the SDKs want to know of it."""
    if kind in ("ministack", "fauxqs"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return Place(kind, folder)
