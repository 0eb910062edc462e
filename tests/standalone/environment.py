"""The environment in which SDKs find stand-ins instead of a cloud, for examples and pages that are run as they are."""

import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import ACCOUNT, KEY, shared_azure
from tests.servers.binary import NotInstalled


def aws_environment() -> dict[str, str]:
    """For boto3 and aiobotocore."""
    try:
        url = shared_aws("ministack").url
    except NotInstalled as error:
        pytest.skip(str(error))
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }


def azure_environment() -> dict[str, str]:
    """For the Azure SDK."""
    try:
        server = shared_azure()
    except NotInstalled as error:
        pytest.skip(str(error))
    ends = [f"{service.title()}Endpoint={server.endpoint(service)}" for service in ("blob", "queue", "table")]
    words = ["DefaultEndpointsProtocol=http", f"AccountName={ACCOUNT}", f"AccountKey={KEY}", *ends]
    return {"AZURE_STORAGE_CONNECTION_STRING": ";".join(words)}
