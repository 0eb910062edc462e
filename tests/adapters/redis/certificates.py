"""Certificates for one test: an authority of its own, a server and a client that it vouches for. Made by openssl."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


class Certificates:
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        """Make them."""
        self._folder = folder
        self.authority = folder / "authority.pem"
        key = folder / "authority.key"
        _openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tests", "-keyout", str(key),
            "-out", str(self.authority),
        )  # fmt: skip
        self.server = self._signed("server", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.client = self._signed("client", "subjectAltName=DNS:client")
        #: Of a server that is called otherwise.
        self.other = self._signed("other", "subjectAltName=DNS:elsewhere.invalid")

    def _signed(self, name: str, names: str) -> tuple[Path, Path]:
        certificate, key, asked, more = (self._folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        more.write_text(names)
        _openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(asked)
        )
        _openssl(
            "x509", "-req", "-days", "2", "-in", str(asked), "-CA", str(self.authority),
            "-CAkey", str(self._folder / "authority.key"), "-CAcreateserial", "-extfile", str(more),
            "-out", str(certificate),
        )  # fmt: skip
        return certificate, key

    def serving(self, which: tuple[Path, Path], *, wants_client: bool = False) -> ssl.SSLContext:
        """How a server with this certificate speaks."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.authority))
        context.load_cert_chain(*map(str, which))
        context.verify_mode = ssl.CERT_REQUIRED if wants_client else ssl.CERT_NONE
        return context


def _openssl(*words: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    subprocess.run([program, *words], check=True, capture_output=True)
