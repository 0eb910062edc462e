"""The clouds' queues by their stand-ins: SQS with DynamoDB, and a storage account. Not the clouds themselves."""

import time
from collections.abc import Iterable

from tests.scenarios.azure_ground import AzureGround
from tests.scenarios.sqs_ground import SqsGround
from tests.servers import Proxy
from tests.servers.proxy_http import Call, HttpProxy

from benchmarks.proof.peer import Contender, Store
from benchmarks.proof.place import QUEUE, NotPossible, recorded
from benchmarks.proof.program import Program, Worker
from benchmarks.proof.verdict import Whereabouts


class CloudPlace:
    """A prefix of its own on the stand-ins, behind a proxy for each service."""

    share = 4

    def __init__(self, store: Store, *, refuses: bool) -> None:
        """`refuses`: the proxies read what is asked, so that they can refuse some of it."""
        self._ground = SqsGround() if store == "sqs" else AzureGround()
        ports = self._ground.ports
        self._readers = {name: HttpProxy(port) for name, port in ports.items()} if refuses else {}
        self._proxies = {} if refuses else {name: Proxy(port) for name, port in ports.items()}
        ways: dict[str, Proxy | HttpProxy] = {**self._readers, **self._proxies}
        self._ground.detours = {name: proxy.port for name, proxy in ways.items()}
        self.direct: dict[str, object] = {"store": self._ground.url("")}
        self.detour: dict[str, object] = {"store": self._ground.url_of_processes("")}

    def restart(self, away: float) -> None:
        """The stand-ins keep everything in memory."""
        del away
        raise NotPossible("the stand-in keeps no data")

    def cut(self) -> None:
        """Of every service."""
        for proxy in self._proxies.values():
            proxy.cut()
            proxy.pass_on()

    def refuse(self, seconds: float) -> None:
        """Every delete in the queue is answered 503."""
        for proxy in self._readers.values():
            proxy.rule(_is_delete, proxy.answer(503))
        time.sleep(seconds)
        for proxy in self._readers.values():
            proxy.clear()

    def malform(self, program: Program) -> None:
        """As a producer sends that never heard of Tenure."""
        del program
        for text in ("{not json", "\ufffd", "[]"):
            self._ground.put_plain(QUEUE, text)

    def freeze(self, worker: Worker) -> None:
        """At any moment."""
        worker.freeze()

    def where(self, contender: Contender, ids: Iterable[str]) -> dict[str, Whereabouts]:
        """By their records."""
        del contender
        return recorded(str(self.direct["store"]), ids)

    def close(self) -> None:
        """Proxies first."""
        for reader in self._readers.values():
            reader.stop()
        for proxy in self._proxies.values():
            proxy.stop()
        self._ground.close()


def _is_delete(call: Call) -> bool:
    """Of messages: by the header in which Amazon names the act, and by the method and path of Azure's queues."""
    return b"DeleteMessage" in call.target or (call.method == "DELETE" and "/messages/" in call.path)
