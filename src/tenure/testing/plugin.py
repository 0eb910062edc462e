"""The pytest plugin: the fixture `kit`, and async tests in virtual time.

    kit            an app in memory and virtual time (`kit.py`); which app: override the fixture `tenure_app`
    virtual_time   a marker: run this async test in virtual time, without a kit
    real_time      a marker: run this one on the real clock, where virtual time is the rule
    tenure_virtual_time = true
                   an ini option: virtual time is the rule for every async test, and a fixture's value that is an
                   async context manager is entered for the length of the test

pytest loads it in every run of everybody who has Tenure installed. So it touches nothing but tests that ask for it,
by one of the above or by a fixture that is a `Kit` or a `Harness`, and imports what it needs when it is needed. Such
tests are run here whichever other plugin (pytest-asyncio, anyio) would run them; all others are left to those. A test
with a kit that is not async is refused: nothing would run in it, and what it sent would go to the app's real place.
"""

import inspect
import sys
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from tenure.app import Tenure
    from tenure.testing.kit import Kit
    from tenure.testing.virtual import VirtualClock

INI = "tenure_virtual_time"
#: Fixtures of these kinds bring virtual time along, and are entered for the length of the test.
_KIT, _HARNESS = ("tenure.testing.kit", "Kit"), ("tenure.testing.harness", "Harness")
_PARTS = ("tenure.testing.row_harness", "TableHarness"), ("tenure.testing.row_harness", "QueueHarness")
_NOT_ASYNC = "a test with a kit must be async, or nothing runs in it: write `async def {}`. Nothing was done"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Announce the ini option."""
    parser.addini(INI, "run every async test in virtual time (tenure.testing)", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Announce the markers."""
    config.addinivalue_line("markers", "virtual_time: run this async test in virtual time (tenure.testing)")
    config.addinivalue_line("markers", "real_time: run this async test on the real clock (tenure.testing)")


@pytest.fixture
def tenure_app() -> "Tenure":
    """The app that `kit` is for. Override it to test your own: `return app`."""
    from tenure.app import Tenure  # noqa: PLC0415 - most test runs need none of it

    return Tenure("memory://")


@pytest.fixture
def kit(request: pytest.FixtureRequest, tenure_app: "Tenure") -> Iterator["Kit"]:
    """`tenure_app` in memory and virtual time, real workers on demand, and faults to order.

    The app is there from now on: what other fixtures send before the test begins, or after it, goes there too.
    """
    from tenure.testing.kit import Kit  # noqa: PLC0415
    from tenure.testing.virtual import VirtualClock  # noqa: PLC0415

    if _coroutine_function(request.node) is None:
        pytest.fail(_NOT_ASYNC.format(request.node.name), pytrace=False)
    # One clock for both, whichever of them a test asks for first.
    shares = "virtual_clock" in request.fixturenames
    with Kit(tenure_app)._moved(request.getfixturevalue("virtual_clock") if shares else VirtualClock()) as kit:
        yield kit


@pytest.fixture
def virtual_clock() -> "VirtualClock":
    """The clock that the test's loop runs on."""
    from tenure.testing.virtual import VirtualClock  # noqa: PLC0415

    return VirtualClock()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Make a plain function of an async test that is ours: so no other plugin takes it, and pytest calls it."""
    test = _coroutine_function(pyfuncitem)
    if test is None and _kits(pyfuncitem):  # from a fixture of theirs; ours has refused before
        pytest.fail(_NOT_ASYNC.format(pyfuncitem.name), pytrace=False)
    if test is None or not _is_ours(pyfuncitem):
        return (yield)
    given = pyfuncitem.obj
    pyfuncitem.obj = _plain(test, pyfuncitem)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = given


def _coroutine_function(item: pytest.Item) -> Callable[..., Any] | None:
    test: Any = getattr(item, "obj", None)
    if type(item).__module__.partition(".")[0] == "pytest_asyncio":
        test = inspect.unwrap(test, stop=inspect.iscoroutinefunction)  # by now a plain function of theirs
    return test if inspect.iscoroutinefunction(test) else None


def _is_ours(item: pytest.Function) -> bool:
    if item.get_closest_marker("virtual_time") is not None or item.config.getini(INI):
        return True
    kinds = _loaded(_KIT, _HARNESS, *_PARTS)
    return any(isinstance(value, kinds) for value in item.funcargs.values())


def _kits(item: pytest.Function) -> list["Kit"]:
    kind = _loaded(_KIT)
    return [cast("Kit", value) for value in item.funcargs.values() if isinstance(value, kind)]


def _loaded(*kinds: tuple[str, str]) -> tuple[type, ...]:
    """Return the kinds that a test has imported; no test has a fixture of the others."""
    return tuple(getattr(sys.modules[module], name) for module, name in kinds if module in sys.modules)


def _plain(test: Callable[..., Any], item: pytest.Function) -> Callable[..., None]:
    def run(**arguments: Any) -> None:
        from tenure.testing import running  # noqa: PLC0415
        from tenure.testing.faults import FaultNotStruck  # noqa: PLC0415
        from tenure.testing.promised import NeverAwaited  # noqa: PLC0415

        enter_all, kinds, kits = item.config.getini(INI), _loaded(_KIT, _HARNESS, *_PARTS), _kits(item)
        shown = [id(value) for value in arguments.values()]
        try:
            running.run(
                test,
                arguments,
                # A kit behind another fixture must be open too; a harness there is its fixture's to open.
                first=[kit for kit in kits if id(kit) not in shown],
                clock=next((kit.clock for kit in kits if kit._is_moved), None),
                enters=lambda value: isinstance(value, kinds) or (enter_all and hasattr(value, "__aenter__")),
                real=item.get_closest_marker("real_time") is not None,
            )
        except (
            FaultNotStruck,
            NeverAwaited,
        ) as error:  # the test is over; no frame of it or of ours would add anything
            pytest.fail(str(error), pytrace=False)

    return run
