"""The way of one worker to its store, which can be cut while the others keep theirs.

    with way_of_workers(stage.ground) as way:
        victim = stage.start(…)     # goes by the way
        way.others_go_straight()
        way.cut()

A SQLite file has no way to it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.servers import Proxy

from .azure_ground import AzureGround
from .grounds import Ground, RedisGround
from .sqs_ground import SqsGround


class Way:
    """A proxy before each port of a store."""

    def __init__(self, ground: RedisGround | SqsGround | AzureGround, proxies: dict[str, Proxy]) -> None:
        """Processes that start from now on go through the proxies."""
        self._ground = ground
        self._proxies = proxies
        self._detour({name: proxy.port for name, proxy in proxies.items()})

    def others_go_straight(self) -> None:
        """Processes that start from now on connect to the store itself."""
        self._detour({})

    def cut(self) -> None:
        """End every connection, and take none."""
        for proxy in self._proxies.values():
            proxy.cut()

    def pass_on(self) -> None:
        """Let everything through."""
        for proxy in self._proxies.values():
            proxy.pass_on()

    def _detour(self, ports: dict[str, int]) -> None:
        if isinstance(self._ground, RedisGround):
            self._ground.detour = ports.get("redis")
        else:
            self._ground.detours = ports


@contextmanager
def way_of_workers(ground: Ground) -> Iterator[Way]:
    """Stand between the store and the processes that are started next."""
    assert isinstance(ground, RedisGround | SqsGround | AzureGround), "there is no way to a file"
    ports = {"redis": ground.server.port} if isinstance(ground, RedisGround) else ground.ports
    with ExitStack() as stack:
        yield Way(ground, {name: stack.enter_context(Proxy(port)) for name, port in ports.items()})
