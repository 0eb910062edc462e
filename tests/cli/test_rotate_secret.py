"""The secret of the store on the command line: replaced, and left alone where another one signs."""

import asyncio

import pytest

from tenure import Tenure
from tenure.client.signing import Signing

from .conftest import URL, Run, answer


async def _sign() -> str:
    async with Tenure(URL) as app:
        return await Signing(app.state, app.clock, app.settings).sign("watch", "m1")


async def _is_signed(signature: str) -> bool:
    async with Tenure(URL) as app:
        return await Signing(app.state, app.clock, app.settings).is_signed("watch", "m1", signature)


def test_the_secret_is_replaced_and_the_old_one_still_accepted(tenure: Run) -> None:
    before = asyncio.run(_sign())
    assert asyncio.run(_sign()) == before
    told = tenure("token", "rotate-secret", URL).stdout
    assert told == "Rotated. What the old secret signed is accepted for 30 more days.\n"
    assert asyncio.run(_sign()) != before
    assert asyncio.run(_is_signed(before))
    (act,) = answer(tenure("acts", URL, "--json"))["acts"]
    assert (act["kind"], act["triggered_by"]) == ("secret_rotated", "cli")
    assert "secret_rotated" in tenure("acts", URL).stdout


def test_where_the_environment_has_the_secret_nothing_is_replaced(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = asyncio.run(_sign())
    monkeypatch.setenv("TENURE_SECRET_KEY", "n" * 32)
    refused = tenure("token", "rotate-secret", URL)
    assert (refused.exit_code, refused.stderr.split(":")[0]) == (2, "error[bad_argument]")
    monkeypatch.delenv("TENURE_SECRET_KEY")
    assert asyncio.run(_sign()) == before
    assert answer(tenure("acts", URL, "--json"))["acts"] == []
