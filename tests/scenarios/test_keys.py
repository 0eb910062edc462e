"""The same work asked for more than once."""

import json

from .grounds import EVERYWHERE, on
from .stage import Stage


@on(*EVERYWHERE)
def test_two_producers_with_the_same_fifty_keys_make_fifty_runs(stage: Stage) -> None:
    """Done is done: sent by two at once, while workers run them, and once more when all are done."""
    stage.worker()
    stage.worker()
    producers = [stage.start("-m", "scenarios.sending", "50") for _ in range(2)]
    assert [producer.wait() for producer in producers] == [0, 0]
    one, other = (json.loads(producer.said) for producer in producers)
    stage.sent += one.values()

    stage.until_settled()
    late = stage.start("-m", "scenarios.sending", "50")
    assert late.wait() == 0
    stage.until_settled()

    assert one == other == json.loads(late.said), "each key stands for one message"
    verdict = stage.verdict()
    assert len(verdict.completed) == 50
    assert len(stage.runs()) == 50
