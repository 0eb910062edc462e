"""Operate: everything that people and programs do with a store from outside, in one object.

    found = await app.operate.dead_groups()
    await app.operate.redrive_all(DeadQuery(task="resize"), rate=50)

`app.operate` acts as the user of the process; `bound` gives the same for another person, with their queues only. Every
act is written to the journal and the audit log. Without async: `app.operate_sync` (`blocking.py`).
"""

from collections.abc import Sequence

from tenure.client.operations.access import EVERY_QUEUE, Access, Identity
from tenure.client.operations.acts import ActOperations
from tenure.client.operations.children import ChildOperations
from tenure.client.operations.client_weights import ClientWeightOperations
from tenure.client.operations.dead import DeadOperations
from tenure.client.operations.doctor.operations import DoctorOperations
from tenure.client.operations.events import EventOperations
from tenure.client.operations.figures import FigureOperations
from tenure.client.operations.findings import FindingOperations
from tenure.client.operations.forget import ForgetOperations
from tenure.client.operations.groups import GroupOperations
from tenure.client.operations.health import HealthOperations
from tenure.client.operations.leases import LeaseOperations
from tenure.client.operations.limits import LimitOperations
from tenure.client.operations.messages import MessageOperations
from tenure.client.operations.overview.operations import OverviewOperations
from tenure.client.operations.run_now import RunNowOperations
from tenure.client.operations.scaling import ScalingOperations
from tenure.client.operations.schedules import ScheduleOperations
from tenure.client.operations.settings import SettingOperations
from tenure.client.operations.stack import StackOperations
from tenure.client.operations.timing import TimingOperations
from tenure.client.operations.webhook_deliveries import WebhookDeliveryOperations
from tenure.client.operations.webhook_endpoints import WebhookEndpointOperations
from tenure.client.operations.workers import WorkerOperations


class Operate(
    OverviewOperations,
    FigureOperations,
    TimingOperations,
    ScalingOperations,
    ForgetOperations,
    ClientWeightOperations,
    LimitOperations,
    MessageOperations,
    RunNowOperations,
    ChildOperations,
    GroupOperations,
    StackOperations,
    DeadOperations,
    WorkerOperations,
    LeaseOperations,
    ScheduleOperations,
    WebhookEndpointOperations,
    WebhookDeliveryOperations,
    FindingOperations,
    EventOperations,
    ActOperations,
    SettingOperations,
    HealthOperations,
    DoctorOperations,
):
    """Operations on the app's store: look at everything, and act on messages, queues and schedules."""

    @property
    def access(self) -> Access:
        """The caller's identity and the queues that it sees."""
        return self._access

    def bound(
        self,
        *,
        by: str,
        triggered_by: str = "api",
        source: str = "",
        queues: Sequence[str] = EVERY_QUEUE,
        sees_payload: bool = True,
    ) -> "Operate":
        """Return the same operations for another person.

        - `by`: Who it is; stands beside every act.
        - `triggered_by`: How they reach Tenure, as `http`.
        - `source`: The address they come from. Empty: this machine.
        - `queues`: The only queues that are there for them: names, or patterns such as `acme-*`.
        - `sees_payload`: False: bodies, results, headers and error texts are left out of every answer.
        """
        identity = Identity(
            by=by, triggered_by=triggered_by, source=source, queues=tuple(queues), sees_payload=sees_payload
        )
        return Operate(self._access.bound_to(identity))
