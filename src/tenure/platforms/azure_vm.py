"""Azure virtual machines and scale sets: scheduled events of the instance's metadata service.

`Preempt` takes a spot machine away, at least 30 seconds before; `Terminate` is a scale-in, where the scale set
announces it; `Redeploy` and `Reboot` end every process. Events name the machines that they are about. `Freeze` pauses a
machine for seconds, which leases outlive.
"""

from email.utils import parsedate_to_datetime

import msgspec

from tenure.platforms.calls import Unanswered, call
from tenure.platforms.notices import Notice

_USUAL = "http://169.254.169.254"
_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_NAME = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
_ENDINGS = frozenset({"Preempt", "Terminate", "Redeploy", "Reboot"})
_OK = 200


class _Event(msgspec.Struct, frozen=True, rename="pascal"):
    event_type: str = ""
    not_before: str | None = None
    resources: tuple[str, ...] = ()


class _Events(msgspec.Struct, frozen=True, rename="pascal"):
    events: tuple[_Event, ...] = ()


class AzureMachine:
    """The machine that we run on, as its metadata have it."""

    name = "Azure"

    def __init__(self, endpoint: str = _USUAL) -> None:
        """Nothing is asked yet."""
        self._endpoint = endpoint.rstrip("/")
        self._name: str | None = None

    async def read(self) -> Notice | None:
        """What is announced for this machine."""
        if self._name is None:
            self._name = (await self._get(_NAME)).decode(errors="replace").strip()
        try:
            said = msgspec.json.decode(await self._get(_EVENTS), type=_Events)
        except msgspec.DecodeError as error:
            raise Unanswered(f"the scheduled events cannot be read: {error}") from error
        for event in said.events:
            if event.event_type in _ENDINGS and self._name in event.resources:
                return Notice(f"Azure takes this machine away ({event.event_type})", _moment(event.not_before))
        return None

    async def _get(self, path: str) -> bytes:
        answer = await call("GET", f"{self._endpoint}{path}", headers={"Metadata": "true"})
        if answer.status != _OK:
            raise Unanswered(f"{path} was answered with {answer.status}")
        return answer.body


def _moment(text: str | None) -> float | None:
    """Parse `Mon, 19 Sep 2022 18:29:47 GMT`; an event that has begun has an empty one."""
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except ValueError:
        return None
