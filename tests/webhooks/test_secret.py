"""Secrets at rest."""

import subprocess
import sys
from pathlib import Path

import pytest

from tenure.errors import SecretUnreadable
from tenure.webhooks.secret import SecretBox, is_reference, new_secret
from tenure.webhooks.signature import key_of

KEY = "k" * 32


def test_a_sealed_secret_is_read_again_and_is_not_in_what_is_stored() -> None:
    secret = new_secret()
    stored = SecretBox(KEY).seal(secret, "orders")
    assert secret not in stored
    assert stored.startswith("enc:1:")
    assert SecretBox(KEY).key(stored, "orders") == key_of(secret)


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    secret, box = new_secret(), SecretBox(KEY)
    assert box.seal(secret, "orders") != box.seal(secret, "orders")


@pytest.mark.parametrize(("key", "name"), [("x" * 32, "orders"), (KEY, "other")])
def test_a_sealed_secret_opens_under_no_other_key_and_for_no_other_endpoint(key: str, name: str) -> None:
    stored = SecretBox(KEY).seal(new_secret(), "orders")
    with pytest.raises(SecretUnreadable, match="TENURE_SECRET_KEY"):
        SecretBox(key).key(stored, name)


def test_a_changed_seal_does_not_open() -> None:
    stored = SecretBox(KEY).seal(new_secret(), "orders")
    for damaged in (stored[:-8] + "AAAAAAA=", "enc:1:", "enc:1:?"):
        with pytest.raises(SecretUnreadable):
            SecretBox(KEY).key(damaged, "orders")


def test_without_a_key_nothing_is_sealed_and_the_error_says_what_to_do() -> None:
    with pytest.raises(SecretUnreadable, match=r"set it in every process.*env:NAME"):
        SecretBox(None).seal(new_secret(), "orders")


def test_a_reference_needs_no_key_and_is_followed_each_time(tmp_path: Path) -> None:
    first, second = new_secret(), new_secret()
    environment = {"HOOK": first}
    box = SecretBox(None, environment)
    stored = box.seal("env:HOOK", "orders")
    assert is_reference(stored)
    assert box.key(stored, "orders") == key_of(first)
    environment["HOOK"] = second
    assert box.key(stored, "orders") == key_of(second)
    path = tmp_path / "hook"
    path.write_text(f"{first}\n")
    assert box.key(box.seal(f"file:{path}", "orders"), "orders") == key_of(first)


def test_a_reference_that_leads_nowhere_says_so(tmp_path: Path) -> None:
    box = SecretBox(None, {})
    for stored in ("env:HOOK", f"file:{tmp_path / 'none'}", f"file:{tmp_path}"):
        with pytest.raises(SecretUnreadable, match="secret of endpoint orders"):
            box.key(stored, "orders")
    for nothing in ("env:", "file:"):
        with pytest.raises(SecretUnreadable):
            box.seal(nothing, "orders")


def test_what_a_newer_tenure_sealed_is_not_guessed_at() -> None:
    with pytest.raises(SecretUnreadable, match="newer"):
        SecretBox(KEY).key("enc:2:AAAA", "orders")


def test_the_package_is_light_to_import() -> None:
    code = (
        "import sys, tenure.webhooks; "
        "print([one for one in ('aiohttp', 'cryptography', 'tenure.app') if one in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
