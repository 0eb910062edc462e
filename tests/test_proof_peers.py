"""Every other queue in `make proof-speed` and `make proof-faults`: it is installed, and does what is asked of it.

It comes to an end of a small fill and of its messages when nothing is wrong; what it does under faults is the table's.
"""

import pytest
from benchmarks.proof import speed
from benchmarks.proof.environment import CannotInstall, Environment, folder
from benchmarks.proof.peer import Contender, contenders
from benchmarks.proof.place import RedisPlace
from benchmarks.proof.program import Program
from benchmarks.proof.stage import QUICK, Stage
from tests.servers import start_redis

PEERS = [one for one in contenders() if one.peer.language != "here"]


def installed(one: Contender) -> Environment:
    try:
        return Environment(one.peer)
    except CannotInstall as error:
        pytest.skip(f"{one.name} could not be installed here: {error}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("one", PEERS, ids=[one.key for one in PEERS])
def test_a_peer_runs_what_it_is_given(one: Contender) -> None:
    environment = installed(one)
    with folder() as files, start_redis("valkey9", files) as server:
        for mode in one.modes:
            drained, sent = speed._round(one, environment, mode, server, 500, 20.0)
            assert drained > 0
            assert sent > 0
    with folder() as files:
        place = RedisPlace(files)
        program = Program(one, environment, "safe", files, for_speed=False, lease=QUICK.lease, **place.direct)
        stage = Stage(program, place, QUICK)
        try:
            stage.send(10, 0.1)
            stage.start()
            stage.settle(linger=False)
            assert stage.verdict().told == "ok"
        finally:
            program.end()
            place.close()
    assert environment.versions()
