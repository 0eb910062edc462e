"""A task that died unseen fails its test."""

import asyncio
from pathlib import Path

import pytest
from tests.kit.project import NO_OTHER_PLUGINS

pytest_plugins = ["pytester"]

_TEST = """
import asyncio

async def die():
    raise AssertionError("concluded twice")

def test_it():
    async def main():
        TASK
        await asyncio.sleep(0.01)
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("lines", "passes"),
    [
        ("task = asyncio.create_task(die()); main.kept = task", False),
        ("asyncio.create_task(die())", False),
        ("asyncio.get_running_loop().call_soon(lambda: 1 / 0)", False),
        ("await asyncio.gather(asyncio.create_task(die()), return_exceptions=True)", True),
        ("asyncio.create_task(asyncio.sleep(9)).cancel()", True),
    ],
)
def test_an_error_that_nothing_looked_at_fails_the_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, lines: str, *, passes: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    for name, value in NO_OTHER_PLUGINS.items():
        monkeypatch.setenv(name, value)
    pytester.makepyfile(_TEST.replace("TASK", lines))
    result = pytester.runpytest_subprocess("-p", "tests.unseen_errors", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=0 if passes else 1)


def test_a_test_about_such_errors_clears_the_list(unseen_errors: list[str]) -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert "ZeroDivisionError" in unseen_errors[0]
    unseen_errors.clear()
