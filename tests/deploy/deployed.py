"""What the files of deploy/ start, as processes: their commands, variables and health checks, without containers."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.cli.process import SOON
from tests.cli.process import Tenure as Running

DEPLOY = Path(__file__).parents[2] / "deploy"


class Deployed(NamedTuple):
    """One container: what runs in it, what asks how it is, and how long it may take to stop."""

    command: Sequence[str]
    environment: Mapping[str, str]
    checks: Sequence[Sequence[str]]
    stop_seconds: float
    #: Paths that are asked over HTTP.
    paths: Sequence[str] = ()
    #: What runs before it is told to stop.
    before_stop: Sequence[str] = ()


def compose(name: str, url: str) -> Deployed:
    """A service of the Compose file; the worker's check is that of the image."""
    file = DEPLOY / "docker" / "compose.yaml"
    service = yaml.safe_load(file.read_text("utf-8").replace("$$", "$"))["services"][name]
    check = service.get("healthcheck", {}).get("test") or ["CMD", *_image_check()]
    environment = {**service["environment"], "TENURE_URL": url, "HOSTNAME": "3f2a9c"}
    return Deployed(service["command"], environment, [check[1:]], float(service["stop_grace_period"].removesuffix("s")))


def kubernetes(name: str, url: str) -> Deployed:
    """The container of a Deployment; what the cluster knows is made up."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / f"{name}.yaml").read_text("utf-8"))
    pod = next(one for one in documents if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment: dict[str, str] = {}
    for one in container["env"]:
        value = one.get("value") or (url if "secretKeyRef" in one["valueFrom"] else "7b1e-uid")
        environment[one["name"]] = re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], value)
    probes = [container[name] for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in container]
    return Deployed(
        container["command"],
        environment,
        [probe["exec"]["command"] for probe in probes if "exec" in probe],
        pod["terminationGracePeriodSeconds"],
        [probe["httpGet"]["path"] for probe in probes if "httpGet" in probe],
        container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ()),
    )


def ecs(name: str, url: str) -> Deployed:
    """The container of a task definition. Its agent does not answer, and the worker goes on."""
    (container,) = ecs_definition(name)["containerDefinitions"]
    environment = {one["name"]: one["value"] for one in container["environment"]}
    environment |= {"TENURE_URL": url, "ECS_AGENT_URI": "http://127.0.0.1:9"}
    check = container["healthCheck"]["command"][1:]
    return Deployed(container["command"], environment, [check], container["stopTimeout"])


def ecs_definition(name: str) -> Any:
    """A task definition, as it is registered."""
    return json.loads((DEPLOY / "ecs" / f"{name}.json").read_text("utf-8"))


@contextlib.contextmanager
def running(one: Deployed, folder: Path) -> Iterator[Running]:
    """Its process, in the folder where the image has the code. Killed at the end, if it is still there."""
    process = subprocess.Popen(
        one.command, cwd=folder, env=_environment(one), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield Running(process)
        finally:
            process.kill()


def run(one: Deployed, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in the same container."""
    return subprocess.run(
        words, cwd=folder, env=_environment(one), capture_output=True, text=True, timeout=SOON, check=False
    )


def _environment(one: Deployed) -> dict[str, str]:
    """As in the image: its virtual environment comes first, and nothing of ours."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return {**own, "PATH": path, "PYTHONUNBUFFERED": "1", **one.environment}


def _image_check() -> list[str]:
    found = re.search(r"(?m)^HEALTHCHECK .*CMD (\[.*\])$", (DEPLOY / "docker" / "Dockerfile").read_text("utf-8"))
    assert found is not None
    words: list[str] = json.loads(found[1])
    return words
