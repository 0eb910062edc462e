"""`rediss://`: the server must be vouched for, and be who it is called. A front speaks TLS for a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.adapters.redis.acting import message, opened, request
from tests.adapters.redis.certificates import Certificates
from tests.adapters.redis.front import front
from tests.servers.shared import shared

from tenure.errors import BadURL, BrokerUnavailable, TenureError
from tenure.message import Outgoing
from tenure.settlement import Ack, Outcome

pytestmark = [pytest.mark.real_time, pytest.mark.outage]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@asynccontextmanager
async def _served(certificates: Certificates, which: str = "server", **more: bool) -> AsyncIterator[int]:
    tls = certificates.serving(getattr(certificates, which), **more)
    async with front(shared("valkey9").port, tls=tls) as port:
        yield port


async def _works(url: str) -> None:
    async with opened(url) as (broker, state):
        await broker.send([Outgoing(message())])
        (lease,) = await broker.lease(request())
        await broker.wait(["nothing"], 0.01)  # on a line of its own
        await state.roster.members()
        assert [one.outcome for one in await broker.ack([Ack(lease)])] == [Outcome.DELETED]


async def _refused(url: str) -> TenureError:
    with pytest.raises(TenureError) as caught:
        await _works(url)
    return caught.value


async def test_a_server_that_is_vouched_for(certificates: Certificates) -> None:
    async with _served(certificates) as port:
        await _works(f"rediss://localhost:{port}?ca_file={certificates.authority}&prefix=tls1")
        await _works(f"redis://127.0.0.1:{port}?tls=yes&ca_file={certificates.authority}&prefix=tls2")


async def test_one_that_nobody_vouches_for_is_not_spoken_to(certificates: Certificates) -> None:
    async with _served(certificates) as port:
        error = await _refused(f"rediss://localhost:{port}")
    assert error.code == "tls_failed"
    assert "ca_file" in str(error)


async def test_unless_somebody_says_so(certificates: Certificates) -> None:
    async with _served(certificates) as port:
        await _works(f"rediss://localhost:{port}?verify=no&prefix=tls3")


async def test_one_that_is_called_otherwise(certificates: Certificates) -> None:
    async with _served(certificates, "other") as port:
        error = await _refused(f"rediss://localhost:{port}?ca_file={certificates.authority}")
    assert error.code == "tls_failed"


async def test_a_server_that_wants_to_know_who_asks(certificates: Certificates) -> None:
    async with _served(certificates, wants_client=True) as port:
        url = f"rediss://localhost:{port}?ca_file={certificates.authority}&prefix=tls4"
        assert (await _refused(url)).code in {"tls_failed", "broker_unavailable"}
        certificate, key = certificates.client
        await _works(f"{url}&cert_file={certificate}&key_file={key}")


async def test_an_answer_that_is_damaged_on_its_way_leaves_the_outcome_unknown(certificates: Certificates) -> None:
    damaging: list[bool] = []

    def damaged(piece: bytes) -> bytes:
        return piece[:-1] + bytes([piece[-1] ^ 1]) if damaging else piece

    async with _served(certificates) as inner, front(inner, change=damaged) as port:
        url = f"rediss://localhost:{port}?ca_file={certificates.authority}&prefix=tls5"
        async with opened(url) as (broker, _):
            await broker.send([Outgoing(message())])
            asked = request()
            damaging.append(True)
            with pytest.raises(BrokerUnavailable) as caught:
                await broker.lease(asked)
            damaging.clear()
            assert caught.value.outcome_unknown
            assert "nothing was sent" not in str(caught.value)
            (lease,) = await broker.held(asked.owner, asked.request_id)
            await broker.ack([Ack(lease)])


async def test_tls_where_none_is_spoken() -> None:
    error = await _refused(f"rediss://127.0.0.1:{shared('valkey9').port}?timeout_seconds=2")
    assert error.code in {"tls_failed", "broker_unavailable"}
    assert "by TLS" in str(error)


async def test_no_tls_where_it_is_wanted(certificates: Certificates) -> None:
    async with _served(certificates) as port:
        assert (await _refused(f"redis://localhost:{port}?timeout_seconds=2")).code == "broker_unavailable"


async def test_a_file_that_is_not_there() -> None:
    error = await _refused("rediss://localhost:1?ca_file=no-such-file.pem")
    assert isinstance(error, BadURL)
    assert "no-such-file.pem" in str(error)


async def test_a_file_that_is_no_certificate(certificates: Certificates, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind")
    async with _served(certificates) as port:
        error = await _refused(f"rediss://localhost:{port}?ca_file={tmp_path / 'notes.txt'}")
    assert error.code == "tls_failed"


@pytest.mark.parametrize("options", ["ca_file={0}", "cert_file={0}&key_file={0}", "verify=no"])
async def test_options_of_tls_without_it(options: str, certificates: Certificates) -> None:
    error = await _refused(f"redis://localhost:1?{options.format(certificates.authority)}")
    assert isinstance(error, BadURL)
    assert "rediss://" in str(error)


async def test_a_key_without_its_certificate(certificates: Certificates) -> None:
    error = await _refused(f"rediss://localhost:1?key_file={certificates.client[1]}")
    assert isinstance(error, BadURL)
    assert "cert_file" in str(error)
