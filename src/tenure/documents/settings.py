"""The settings of documents, from the environment. Offline where nothing is set; all mistakes are reported at once.

| variable | means |
|---|---|
| TENURE_DOCUMENTS_INDEX | sqlite:///documents.db (default), postgresql://…; SUPABASE_URL and SUPABASE_KEY: Supabase |
| TENURE_DOCUMENTS_SOURCE | file:///srv/documents, blob://account/documents, s3://bucket/prefix |
| TENURE_DOCUMENTS_EMBEDDER | wordllama, openai, none; default: openai where OPENAI_API_KEY is set, else wordllama |
| TENURE_DOCUMENTS_READER | docling, for PDF and DOCX, where it is installed |
| TENURE_DOCUMENTS_MODEL, …_EMBEDDING_MODEL | names of models; MODEL=scripted: no endpoint |
| OPENAI_API_KEY, OPENAI_BASE_URL | the endpoint |
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from tenure.documents.embedding.wordllama import is_installed
from tenure.errors import BadSetting

PUBLIC_ENDPOINT = "https://api.openai.com/v1"
DEFAULT_INDEX = "sqlite:///documents.db"
#: The model that answers without an endpoint.
SCRIPTED = "scripted"
_EMBEDDERS = ("wordllama", "openai", "none")
_LONGEST_CALL = 600.0


class DocumentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is in force."""

    index: str = DEFAULT_INDEX
    #: Secret of the index's endpoint; empty: it has none, or in its URL.
    index_key: str = ""
    source: str = ""
    embedder: str = "none"
    embedding_model: str = "text-embedding-3-small"
    #: Empty: no model is set, so that summaries are extracts.
    model: str = ""
    reader: str = ""
    endpoint: str = PUBLIC_ENDPOINT
    key: str = ""
    #: For one call of the endpoint.
    seconds: float = 60.0


def settings_from(environment: Mapping[str, str] | None = None) -> DocumentSettings:
    """Read the environment. Raises `BadSetting` with everything that is wrong."""
    env = {name: value.strip() for name, value in (os.environ if environment is None else environment).items()}
    wrong: list[str] = []
    key, endpoint = env.get("OPENAI_API_KEY", ""), env.get("OPENAI_BASE_URL", "") or PUBLIC_ENDPOINT
    has_endpoint = bool(key or env.get("OPENAI_BASE_URL"))
    if urlsplit(endpoint).scheme not in ("http", "https"):
        wrong.append("OPENAI_BASE_URL must be an http:// or https:// URL")
    embedder = env.get("TENURE_DOCUMENTS_EMBEDDER", "")
    if embedder not in ("", *_EMBEDDERS):
        wrong.append(f"TENURE_DOCUMENTS_EMBEDDER must be one of {', '.join(_EMBEDDERS)}, not {embedder!r}")
    reader = env.get("TENURE_DOCUMENTS_READER", "")
    if reader not in ("", "docling"):
        wrong.append(f"TENURE_DOCUMENTS_READER must be docling or unset, not {reader!r}")
    model = env.get("TENURE_DOCUMENTS_MODEL", "") or ("gpt-4o-mini" if has_endpoint else "")
    supabase, supabase_key = env.get("SUPABASE_URL", ""), env.get("SUPABASE_KEY", "")
    index = env.get("TENURE_DOCUMENTS_INDEX", "")
    if bool(supabase) != bool(supabase_key):
        wrong.append("SUPABASE_URL and SUPABASE_KEY are set together or not at all")
    seconds = _seconds(env.get("TENURE_DOCUMENTS_TIMEOUT", ""), wrong)
    if wrong:
        raise BadSetting(f"{'; '.join(wrong)}. Nothing was started")
    return DocumentSettings(
        index=index or supabase or DEFAULT_INDEX, index_key=supabase_key, source=_source(env),
        embedder=embedder or _default_embedder(has_endpoint=has_endpoint),
        embedding_model=env.get("TENURE_DOCUMENTS_EMBEDDING_MODEL", "") or "text-embedding-3-small",
        model=model, reader=reader, endpoint=endpoint, key=key, seconds=seconds,
    )  # fmt: skip


def _default_embedder(*, has_endpoint: bool) -> str:
    if has_endpoint:
        return "openai"
    return "wordllama" if is_installed() else "none"


def _source(env: Mapping[str, str]) -> str:
    """The source that is named, or the container of the deployment."""
    if said := env.get("TENURE_DOCUMENTS_SOURCE", ""):
        return said
    container = env.get("AZURE_STORAGE_CONTAINER_NAME", "") or "documents"
    account = env.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    connection = env.get("AZURE_STORAGE_CONNECTION_STRING", "")
    if not account and connection:
        fields = dict(field.partition("=")[::2] for field in connection.split(";"))
        account = fields.get("AccountName", "devstoreaccount1")
    return f"blob://{account}/{container}" if account else ""


def _seconds(said: str, wrong: list[str]) -> float:
    if not said:
        return 60.0
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds <= _LONGEST_CALL:
        wrong.append(f"TENURE_DOCUMENTS_TIMEOUT must be a number of seconds up to {_LONGEST_CALL:g}, not {said!r}")
    return seconds
