"""A container of Azure Blob Storage, with the account and the credentials of the environment.

`AZURE_STORAGE_CONNECTION_STRING` is used if it is set, else the account's name with azure-identity's default login.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from tenure.documents.errors import DocumentMissing, IndexUnavailable
from tenure.documents.sources.names import checked_name, too_large
from tenure.errors import MissingExtra

#: What `UseDevelopmentStorage=true` means: Azurite on its usual port, with the key that it has everywhere.
_DEVELOPMENT = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6"
    "IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;"
)


class BlobSource:
    """The blobs of a container."""

    def __init__(self, account: str, container: str, environment: Mapping[str, str]) -> None:
        """Read the container of an account."""
        self._account = account
        self._container = container
        said = environment.get("AZURE_STORAGE_CONNECTION_STRING", "").strip()
        self._connection = _DEVELOPMENT if said.rstrip(";").lower() == "usedevelopmentstorage=true" else said
        self._client: Any = None
        self._credential: Any = None

    @property
    def place(self) -> str:
        """The container."""
        return f"blob://{self._account}/{self._container}"

    async def fetch(self, name: str, most: int) -> bytes:
        """As the port says."""
        blob = self._opened().get_blob_client(checked_name(name))
        try:
            too_large((await blob.get_blob_properties()).size, most, name)
            stream = await blob.download_blob()
            data: bytes = await stream.readall()
        except Exception as error:
            raise self._told(error, name) from error
        return data

    async def names(self, prefix: str) -> AsyncIterator[str]:
        """As the port says."""
        start = checked_name(prefix, may_be_folder=True)
        try:
            async for blob in self._opened().list_blobs(name_starts_with=start or None):
                yield blob.name
        except Exception as error:
            raise self._told(error, prefix) from error

    def _told(self, error: Exception, name: str) -> Exception:
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        if isinstance(error, ResourceNotFoundError):
            if getattr(error, "error_code", "") == "ContainerNotFound":
                return IndexUnavailable(f"there is no container {self.place}; create it")
            return DocumentMissing(f"there is no {name} in {self.place}. It was not indexed")
        if isinstance(error, AzureError):
            return IndexUnavailable(f"{self.place} cannot be read: {str(error).splitlines()[0]}")
        return error

    def _opened(self) -> Any:
        if self._client is None:
            try:
                from azure.storage.blob.aio import ContainerClient
            except ImportError as error:
                raise MissingExtra(f"{self.place} needs Azure's client: pip install 'tenure[azure]'") from error
            if self._connection:
                self._client = ContainerClient.from_connection_string(self._connection, self._container)
            else:
                from azure.identity.aio import DefaultAzureCredential

                self._credential = DefaultAzureCredential()
                url = f"https://{self._account}.blob.core.windows.net"
                self._client = ContainerClient(url, self._container, credential=self._credential)
        return self._client

    async def close(self) -> None:
        """Disconnect."""
        for one in (self._client, self._credential):
            if one is not None:
                await one.close()
        self._client = self._credential = None
