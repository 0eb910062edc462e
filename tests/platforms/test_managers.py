"""What managers get on the wire, and how their answers are read."""

import json
import socket
import threading
from pathlib import Path

import pytest
from tests.servers.recorder import Reply, Request, recording

from tenure.errors import ConfigurationError
from tenure.platforms.azure_vm import AzureMachine
from tenure.platforms.calls import Unanswered, call
from tenure.platforms.choosing import choose
from tenure.platforms.ec2 import Ec2Instance
from tenure.platforms.ecs import EcsTask
from tenure.platforms.kubernetes import KubernetesPod
from tenure.platforms.notices import Notice

pytestmark = pytest.mark.real_time


def _task(request: Request) -> Reply:
    """The agent of ECS: it knows two fields, and forgets after 1 to 2,880 minutes."""
    asked = json.loads(request.body)
    assert set(asked) <= {"ProtectionEnabled", "ExpiresInMinutes"}
    assert 1 <= asked.get("ExpiresInMinutes", 120) <= 2880
    arn = "arn:aws:ecs:eu-west-1:111122223333:task/media/1"
    return Reply(
        body=json.dumps({"protection": {"ProtectionEnabled": asked["ProtectionEnabled"], "TaskArn": arn}}).encode()
    )


async def test_ecs_protects_the_task_while_messages_are_held() -> None:
    with recording(_task) as agent:
        task = EcsTask.from_environment({"ECS_AGENT_URI": agent.url})
        await task.tell(3)
        await task.tell(0)
        assert [(one.method, one.path) for one in agent.requests] == [("PUT", "/task-protection/v1/state")] * 2
        assert [json.loads(one.body) for one in agent.requests] == [
            {"ProtectionEnabled": True, "ExpiresInMinutes": 30},
            {"ProtectionEnabled": False},
        ]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b'{"failure": {"Arn": "arn", "Reason": "DEPLOYMENT_BLOCKED"}}'),
        Reply(400, b'{"error": {"Code": "AccessDeniedException", "Message": "no"}}'),
        Reply(200, b"oops"),
    ],
)
async def test_a_task_that_ecs_does_not_protect_is_not_taken_for_protected(reply: Reply) -> None:
    with recording(lambda _: reply) as agent, pytest.raises(Unanswered):
        await EcsTask(agent.url).tell(1)


async def test_an_agent_that_is_not_there_is_no_answer() -> None:
    with recording() as agent:
        gone = agent.url
    with pytest.raises(Unanswered):
        await EcsTask(gone).tell(1)


async def test_kubernetes_reads_the_cost_of_the_pod_from_its_annotations(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("media\n")
    (tmp_path / "token").write_text("secret-1\n")
    with recording() as server:
        pod = KubernetesPod(server.url, "tenure-worker-abc", tmp_path)
        await pod.tell(4)
        (tmp_path / "token").write_text("secret-2\n")
        await pod.tell(0)
        busy, idle = server.requests
    assert (busy.method, busy.path) == ("PATCH", "/api/v1/namespaces/media/pods/tenure-worker-abc")
    assert busy.headers["content-type"] == "application/merge-patch+json"
    assert [busy.headers["authorization"], idle.headers["authorization"]] == ["Bearer secret-1", "Bearer secret-2"]
    assert json.loads(busy.body)["metadata"]["annotations"] == {
        "controller.kubernetes.io/pod-deletion-cost": "4",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "karpenter.sh/do-not-disrupt": "true",
    }
    assert json.loads(idle.body)["metadata"]["annotations"] == {
        "controller.kubernetes.io/pod-deletion-cost": "0",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
        "karpenter.sh/do-not-disrupt": None,
    }


async def test_a_pod_that_may_not_patch_itself_is_no_answer(tmp_path: Path) -> None:
    for name in ("namespace", "token"):
        (tmp_path / name).write_text("x")
    forbidden = Reply(403, b'{"message": "pods is forbidden"}')
    with recording(lambda _: forbidden) as server, pytest.raises(Unanswered, match=r"403.*forbidden"):
        await KubernetesPod(server.url, "a", tmp_path).tell(1)


class Metadata:
    """The metadata of an EC2 instance, with tokens (IMDSv2) that can be taken back."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.token = "t1"

    def __call__(self, request: Request) -> Reply:
        if request.path == "/latest/api/token":
            assert request.method == "PUT"
            assert 1 <= int(request.headers["x-aws-ec2-metadata-token-ttl-seconds"]) <= 21_600
            return Reply(body=self.token.encode(), content_type="text/plain")
        if request.headers.get("x-aws-ec2-metadata-token") != self.token:
            return Reply(401)
        body = self.entries.get(request.path.removeprefix("/latest/meta-data/"))
        return Reply(404) if body is None else Reply(body=body)


async def test_a_spot_instance_reads_its_interruption() -> None:
    metadata = Metadata()
    with recording(metadata) as server:
        instance = Ec2Instance.from_environment({"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url})
        assert await instance.read() is None
        metadata.token = "t2"  # as after a restart of the service
        assert await instance.read() is None
        metadata.entries["spot/instance-action"] = b'{"action": "terminate", "time": "2030-01-31T09:02:00Z"}'
        assert await instance.read() == Notice("EC2 interrupts this spot instance (terminate)", 1_896_080_520.0)
        metadata.entries = {"autoscaling/target-lifecycle-state": b"InService"}
        assert await instance.read() is None
        metadata.entries = {"autoscaling/target-lifecycle-state": b"Terminated"}
        found = await instance.read()
        assert found is not None
        assert found.at is None


async def test_azure_announces_an_end_by_the_name_of_the_machine() -> None:
    events: list[dict[str, object]] = []

    def answer(request: Request) -> Reply:
        assert request.headers["metadata"] == "true"
        if "/instance/" in request.path:
            return Reply(body=b"worker_0", content_type="text/plain")
        return Reply(body=json.dumps({"DocumentIncarnation": 1, "Events": events}).encode())

    with recording(answer) as server:
        machine = AzureMachine(server.url)
        assert await machine.read() is None
        about = {"EventId": "1", "ResourceType": "VirtualMachine", "EventStatus": "Scheduled"}
        when = {"NotBefore": "Mon, 19 Sep 2022 18:29:47 GMT"}
        events[:] = [{**about, **when, "EventType": "Preempt", "Resources": ["worker_1"]}]
        assert await machine.read() is None
        events[:] = [{**about, **when, "EventType": "Freeze", "Resources": ["worker_0"]}]
        assert await machine.read() is None
        events[:] = [{**about, **when, "EventType": "Preempt", "Resources": ["worker_1", "worker_0"]}]
        assert await machine.read() == Notice("Azure takes this machine away (Preempt)", 1_663_612_187.0)
        events[:] = [{**about, "NotBefore": "", "EventType": "Terminate", "Resources": ["worker_0"]}]
        assert await machine.read() == Notice("Azure takes this machine away (Terminate)", None)


@pytest.mark.parametrize(
    "said", [b"oops", b'{"Events": null}', b'{"Events": [null]}', b'{"Events": [{"Resources": 7}]}']
)
async def test_scheduled_events_that_cannot_be_read_are_no_answer(said: bytes) -> None:
    def answer(request: Request) -> Reply:
        return Reply(body=b"worker_0" if "/instance/" in request.path else said)

    with recording(answer) as server, pytest.raises(Unanswered):
        await AzureMachine(server.url).read()


@pytest.mark.parametrize(
    "said",
    [
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"",
    ],
)
async def test_what_is_no_http_is_no_answer(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(said)

        manager = threading.Thread(target=serve)
        manager.start()
        with pytest.raises(Unanswered, match=r"did not answer: .+"):
            await call("GET", f"http://127.0.0.1:{server.getsockname()[1]}/")
        manager.join(60)


@pytest.mark.parametrize("text", [None, "no certificate"], ids=["missing", "broken"])
async def test_an_authority_that_cannot_be_read_is_no_answer(tmp_path: Path, text: str | None) -> None:
    """It is read for every call, and mounted by Kubernetes: it may be away for a moment."""
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Unanswered):
        await call("GET", "https://127.0.0.1:9/", ca_file=str(file))


@pytest.mark.parametrize("name", ["ecs", "kubernetes", "heroku"])
def test_a_platform_that_is_not_here_is_refused_before_anything_starts(name: str) -> None:
    with pytest.raises(ConfigurationError, match="Nothing was started"):
        choose([name], {})


def test_proxies_are_not_asked_for_what_is_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenure.platforms.calls import _call

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with recording() as server:
        assert _call("GET", f"{server.url}/x", {}, None, None).status == 200
