"""What the page about Redis says, and no block of it shows: each is tried on a real server."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.servers import KINDS, Kind, start_redis

from tenure import Tenure
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import judge

from .markdown import ROOT

PAGE = (ROOT / "docs" / "how-to" / "run-on-redis.md").read_text(encoding="utf-8")


@pytest.mark.real_time
@pytest.mark.parametrize("kind", KINDS)
async def test_the_rights_that_the_page_names_are_enough(kind: Kind, tmp_path: Path) -> None:
    found = re.search(r"ACL SETUSER (tenure .*?)\n```", PAGE, re.DOTALL)
    assert found is not None
    rights = found[1].split()
    server = start_redis(kind, tmp_path)
    try:
        server.ask("ACL", "SETUSER", *rights)
        app = Tenure(f"redis://tenure:password@localhost:{server.port}")

        @app.task
        async def double(number: int) -> int:
            return 2 * number

        async with app, app.worker():
            handles = await app.submit_many([double.bind(number) for number in range(10)])
            keyed = await double.bind(21).submit(key="answer", delay=0.1)
            assert await keyed.result(timeout=60) == 42
            assert [await handle.result(timeout=60) for handle in handles] == [2 * number for number in range(10)]
            judged = judge(await app.state.roster.members(), SYSTEM_PROBE)
            assert (len(judged.living), judged.dead) == (1, [])
            await asyncio.sleep(1.2)  # a second passes: sweeper, roster and board have had their turn
        denied = server.ask("ACL", "LOG")
        assert denied == []
    finally:
        server.stop()
