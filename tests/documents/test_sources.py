"""Documents that are fetched from a container of Azure or a bucket of S3, by the stand-ins for them."""

import boto3  # type: ignore[import-untyped]
import pytest
from azure.storage.blob import ContainerClient
from tests.standalone.environment import aws_environment, azure_environment

from tenure import BadArgument
from tenure.documents import DocumentMissing, DocumentUnreadable, IndexUnavailable
from tenure.documents.sources.source import Source, source_of

pytestmark = [pytest.mark.cloud, pytest.mark.real_time]

FILES = {"south/a.md": b"a", "south/deep/b.md": b"bb", "north/c.md": b"ccc"}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Source:
    environment = aws_environment()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="papers", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for name, data in FILES.items():
        client.put_object(Bucket="papers", Key=f"all/{name}", Body=data)
    return source_of("s3://papers/all?region=eu-west-1", {})


@pytest.fixture
def container() -> Source:
    environment = azure_environment()
    with ContainerClient.from_connection_string(environment["AZURE_STORAGE_CONNECTION_STRING"], "documents") as client:
        if not client.exists():
            client.create_container()
        for name, data in FILES.items():
            client.upload_blob(name, data, overwrite=True)
    return source_of("blob://devstoreaccount1/documents", environment)


@pytest.mark.parametrize("place", ["bucket", "container"])
async def test_files_are_fetched_and_listed(place: str, request: pytest.FixtureRequest) -> None:
    source: Source = request.getfixturevalue(place)
    try:
        assert await source.fetch("south/deep/b.md", 100) == b"bb"
        assert [name async for name in source.names("south/")] == ["south/a.md", "south/deep/b.md"]
        with pytest.raises(DocumentMissing, match=r"there is no south/gone\.md"):
            await source.fetch("south/gone.md", 100)
        with pytest.raises(BadArgument, match="must be a relative path"):
            await source.fetch("south/../north/c.md", 100)
        with pytest.raises(DocumentUnreadable, match="more than 1"):
            await source.fetch("south/deep/b.md", 1)
    finally:
        await source.close()


async def test_a_container_or_bucket_that_is_not_there_is_said_to_be_missing(bucket: Source, container: Source) -> None:
    environment = azure_environment()
    for gone in (source_of("blob://devstoreaccount1/nothing", environment), source_of("s3://nothing", {})):
        try:
            with pytest.raises(IndexUnavailable, match="nothing"):
                await gone.fetch("a.md", 100)
        finally:
            await gone.close()
    await bucket.close()
    await container.close()
