"""The files of deploy/docker and deploy/kubernetes, by the checkers that there are without a daemon or a cluster.

Nothing here builds an image or starts a pod. The steps of the Dockerfile run as a script, in a clean environment.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from tests.cli.process import SOON

_ROOT = Path(__file__).parents[2]
_DOCKER, _KUBERNETES = _ROOT / "deploy" / "docker", _ROOT / "deploy" / "kubernetes"


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [str(hadolint), "--no-color", str(_DOCKER / "Dockerfile")],
        capture_output=True, text=True, timeout=SOON, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.scenario
@pytest.mark.timeout(300)
def test_the_steps_of_the_dockerfile_make_a_worker_that_works(tmp_path: Path) -> None:
    """Its RUN line of the first stage, with other folders, and this project in place of the released one."""
    text = (_DOCKER / "Dockerfile").read_text("utf-8")
    step = re.search(r"(?ms)^RUN (python -m venv .*?)\n(?=\n|[A-Z])", text)
    assert step is not None
    wanted = (_DOCKER / "requirements.txt").read_text("utf-8").replace("tenure[", f"{_ROOT}[")
    (tmp_path / "requirements.txt").write_text(wanted, encoding="utf-8")
    (tmp_path / "jobs.py").write_bytes((_DOCKER / "jobs.py").read_bytes())
    venv = tmp_path / "venv"
    script = step[1].replace("/build/", f"{tmp_path}/").replace("/venv", str(venv))
    script = script.replace("python -m venv", f"{sys.executable} -m venv", 1)
    subprocess.run(["sh", "-ec", script], check=True, capture_output=True, text=True, timeout=250)
    environment = {"PATH": f"{venv}/bin:/usr/bin:/bin", "TENURE_URL": f"sqlite:///{tmp_path / 'jobs.db'}"}

    def tenure(*words: str) -> str:
        told = subprocess.run(
            [f"{venv}/bin/tenure", *words],
            cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=SOON,
        )  # fmt: skip
        return told.stdout

    id = tenure("submit", "jobs:app", "square", '{"number": 12}').split()[0]
    tenure("worker", "jobs:app", "--until-empty")
    assert json.loads(tenure("show", "jobs:app", id, "--json"))["result"] == 144


def _manifests() -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (file.name, one)
        for file in sorted(_KUBERNETES.glob("*.yaml"))
        for one in yaml.safe_load_all(file.read_text("utf-8"))
    ]


@pytest.mark.parametrize(
    "manifest", [pytest.param(one, id=f"{name}-{one['kind']}") for name, one in _manifests() if name != "keda.yaml"]
)
def test_a_manifest_follows_the_schema(manifest: Mapping[str, Any]) -> None:
    kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found() -> None:
    _, manifest = next(one for one in _manifests() if one[1]["kind"] == "Deployment")
    wrong = {**manifest, "spec": {**manifest["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.31", strict=True)


def test_pods_stop_in_time_and_are_not_root() -> None:
    for _, manifest in _manifests():
        if manifest["kind"] != "Deployment":
            continue
        pod = manifest["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] > 30 + 5
        assert pod["securityContext"]["runAsNonRoot"]
        assert all(not one["securityContext"]["allowPrivilegeEscalation"] for one in pod["containers"])


def test_names_of_the_manifests_agree() -> None:
    """Each budget and service selects a deployment's pods; KEDA scales a deployment that there is."""
    found = [one for _, one in _manifests()]
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in found if one["kind"] == "Deployment"]
    for one in found:
        if one["kind"] in ("PodDisruptionBudget", "Service"):
            selector = one["spec"]["selector"]
            assert selector.get("matchLabels", selector) in labels
    scaled = next(one for one in found if one["kind"] == "ScaledObject")
    assert scaled["spec"]["scaleTargetRef"]["name"] in [
        one["metadata"]["name"] for one in found if one["kind"] == "Deployment"
    ]


def test_a_pod_that_tells_its_deletion_cost_may_patch_itself_and_waits_for_what_runs() -> None:
    found = {one["kind"]: one for name, one in _manifests() if name == "scale-in.yaml"}
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    assert found["RoleBinding"]["roleRef"]["name"] == found["Role"]["metadata"]["name"]
    assert found["Role"]["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}]
    (worker,) = pod["containers"]
    assert pod["automountServiceAccountToken"]
    assert worker["command"][-4:] == ["--name", "$(POD_NAME)", "--platform", "kubernetes"]
    (hook,) = worker["lifecycle"]["preStop"]["exec"]["command"][2:]
    assert hook == 'tenure workers drain jobs:app "$POD_NAME" --wait'
    assert {"POD_NAME", "TENURE_URL"} == {one["name"] for one in worker["env"]}


def test_the_compose_file_names_what_there_is() -> None:
    compose = yaml.safe_load((_DOCKER / "compose.yaml").read_text("utf-8"))
    assert set(compose["services"]) == {"store", "worker", "server"}
    for service in compose["services"].values():
        assert set(service.get("depends_on", {})) <= set(compose["services"])
    # Messages that are evicted are lost; and a store without a disk forgets them.
    assert {"noeviction", "yes"} <= set(compose["services"]["store"]["command"])
