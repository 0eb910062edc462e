"""An endpoint's secret at rest: sealed under `TENURE_SECRET_KEY`, or a reference to where it is.

    enc:1:…          AES-256-GCM; bound to the endpoint's name, so that it opens for no other
    env:HOOK_SECRET  an environment variable of the process that signs
    file:/run/s/hook a file there

A reference is resolved where it is used, each time: a mounted secret that changes is followed. What is stored, sent and
shown never has the secret itself. Used by `endpoints.py` to seal, by `deliver.py` to open.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.errors import MissingExtra, SecretUnreadable
from tenure.webhooks.signature import PREFIX, key_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_SEALED = "enc:1:"
_ENV, _FILE = "env:", "file:"
#: What the key for sealing is derived for; the server signs sessions with other keys of the same secret.
_PURPOSE = b"webhook-secrets"
_NONCE = 12
#: A longer file is not a secret.
_MOST_FILE = 4_096


def new_secret() -> str:
    """Make a secret of 256 random bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def is_reference(text: str) -> bool:
    """Whether it names the place of a secret, and is none itself."""
    return text.startswith((_ENV, _FILE))


class SecretBox:
    """Seals secrets and opens them."""

    def __init__(self, secret_key: str | None, environment: Mapping[str, str] | None = None) -> None:
        """`secret_key` is `TENURE_SECRET_KEY`; without it only references can be kept."""
        self._secret_key = secret_key
        self._environment = os.environ if environment is None else environment

    def seal(self, secret: str, endpoint: str) -> str:
        """What is stored of a secret, or of a reference to one. Raises `SecretUnreadable`, `MissingExtra`."""
        if is_reference(secret):
            if secret in (_ENV, _FILE):
                msg = f"{secret!r} names nothing; write env:NAME or file:/path. Nothing was stored"
                raise SecretUnreadable(msg)
            return secret
        key_of(secret)
        nonce = secrets.token_bytes(_NONCE)
        sealed = self._cipher(endpoint).encrypt(nonce, secret.encode(), endpoint.encode())
        return _SEALED + base64.b64encode(nonce + sealed).decode()

    def key(self, stored: str, endpoint: str) -> bytes:
        """The key to sign with. Raises `SecretUnreadable`, `MissingExtra`."""
        return key_of(self._text(stored, endpoint))

    def _text(self, stored: str, endpoint: str) -> str:
        if stored.startswith(_ENV):
            name = stored.removeprefix(_ENV)
            text = self._environment.get(name)
            if text is None:
                msg = f"the secret of endpoint {endpoint} is in the variable {name}, which is not set in this process"
                raise SecretUnreadable(msg)
            return text
        if stored.startswith(_FILE):
            return _read(stored.removeprefix(_FILE), endpoint)
        if not stored.startswith(_SEALED):
            msg = f"the secret of endpoint {endpoint} was stored by a newer Tenure; upgrade this one"
            raise SecretUnreadable(msg)
        return self._open(stored.removeprefix(_SEALED), endpoint)

    def _open(self, sealed: str, endpoint: str) -> str:
        cipher = self._cipher(endpoint)
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - of the extra `webhooks`

        try:
            raw = base64.b64decode(sealed, validate=True)
            return cipher.decrypt(raw[:_NONCE], raw[_NONCE:], endpoint.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            msg = (
                f"the secret of endpoint {endpoint} was sealed under another TENURE_SECRET_KEY; set that one in this "
                f"process, or give the endpoint a new secret (tenure webhooks endpoints rotate {endpoint})"
            )
            raise SecretUnreadable(msg) from error

    def _cipher(self, endpoint: str) -> "AESGCM":
        if self._secret_key is None:
            msg = (
                f"the secret of endpoint {endpoint} is kept encrypted, and TENURE_SECRET_KEY is not set; set it in "
                "every process that adds endpoints or delivers, or give the secret as env:NAME or file:/path"
            )
            raise SecretUnreadable(msg)
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - of the extra `webhooks`
        except ImportError as error:
            msg = "webhooks need the packages of an extra; run: pip install 'tenure[webhooks]'"
            raise MissingExtra(msg) from error
        return AESGCM(hmac.digest(self._secret_key.encode(), _PURPOSE, hashlib.sha256))


def _read(path: str, endpoint: str) -> str:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_MOST_FILE + 1)
        return raw[:_MOST_FILE].decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        msg = f"the secret of endpoint {endpoint} is in the file {path}, which cannot be read here: {why}"
        raise SecretUnreadable(msg) from error
