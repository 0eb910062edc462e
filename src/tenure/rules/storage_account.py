"""The storage account that an environment names, in the words of existing Azure deployments. Pure.

Read by `config.py`, which picks a URL from it, and by `adapters/azure/options.py`.
"""

import re

#: What `UseDevelopmentStorage=true` means: Azurite on this machine. Its key is public and the same for everybody.
DEVELOPMENT_ACCOUNT = "devstoreaccount1"
_DEVELOPMENT = {
    "AccountName": DEVELOPMENT_ACCOUNT,
    "AccountKey": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}
_DEVELOPMENT_PORTS = {"Blob": 10_000, "Queue": 10_001, "Table": 10_002}
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}\Z")
#: Where the service's own endpoints name their account; one with a shared access signature names it nowhere else.
_ENDPOINT = re.compile(r"https?://([a-z0-9]{3,24})\.(?:queue|table|blob)\.")
_CONTAINER = re.compile(r"[a-z0-9](-?[a-z0-9]){2,62}\Z")


def is_account(name: str) -> bool:
    """Whether the service has accounts of such a name."""
    return _ACCOUNT.match(name) is not None


def read_connection_string(text: str) -> dict[str, str]:
    """What a connection string says, by name. That of the development storage is written out."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    told = {name.strip(): value.strip() for name, _, value in pairs}
    if told.get("UseDevelopmentStorage", "").lower() == "true":
        host = told.get("DevelopmentStorageProxyUri", "http://127.0.0.1").rstrip("/")
        ends = {f"{kind}Endpoint": f"{host}:{port}/{DEVELOPMENT_ACCOUNT}" for kind, port in _DEVELOPMENT_PORTS.items()}
        return _DEVELOPMENT | ends
    for kind in ("Queue", "Table", "Blob"):
        found = _ENDPOINT.match(told.get(f"{kind}Endpoint", ""))
        if found is not None:
            told.setdefault("AccountName", found[1])
    return told


def url_of_connection_string(text: str) -> str:
    """The URL of its account. What is missing in the development storage is created. Raises `ValueError`."""
    account = read_connection_string(text).get("AccountName", "")
    if account == DEVELOPMENT_ACCOUNT:
        return f"azure://{account}?create=yes"
    return url_of_account(account)


def url_of_account(name: str) -> str:
    """The URL of an account. Raises `ValueError`."""
    if not is_account(name):
        raise ValueError
    return f"azure://{name}"


def container_name(text: str) -> str:
    """`text`, if the service takes a container of that name. Raises `ValueError`."""
    if not _CONTAINER.match(text):
        raise ValueError
    return text
