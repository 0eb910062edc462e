"""Kubernetes: what the managers of pods and of nodes should know of this pod, as annotations of it.

    controller.kubernetes.io/pod-deletion-cost              a ReplicaSet that shrinks deletes the cheapest pods first
    cluster-autoscaler.kubernetes.io/safe-to-evict          a node with a busy pod is not removed
    karpenter.sh/do-not-disrupt                             likewise, by Karpenter

Written when the pod becomes busy or idle, and every five minutes while it is busy: annotations are stored by the API
server, and must not change all the time. The pod needs a service account that may patch pods (`keda.yaml`).
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tenure.errors import ConfigurationError
from tenure.platforms.calls import Unanswered, call

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_OK = 200
COST = "controller.kubernetes.io/pod-deletion-cost"
EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DISRUPT = "karpenter.sh/do-not-disrupt"


class KubernetesPod:
    """The pod that we run on, as the API server sees it."""

    name = "Kubernetes"
    renew_seconds = 300.0

    def __init__(self, server: str, pod: str, account: Path = _ACCOUNT) -> None:
        """`account` is the folder with the token, the authority and the namespace of the pod's service account."""
        try:
            namespace = (account / "namespace").read_text("utf-8").strip()
        except OSError as error:
            msg = (
                f"--platform kubernetes: the pod has no service account ({error}); let its spec have one that may "
                "patch pods, with automountServiceAccountToken: true. Nothing was started"
            )
            raise ConfigurationError(msg) from error
        self._url = f"{server}/api/v1/namespaces/{namespace}/pods/{pod}"
        self._token = account / "token"
        self._authority = str(account / "ca.crt") if server.startswith("https:") else None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "KubernetesPod":
        """The pod that we run in. Raises `ConfigurationError` outside of one."""
        host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
        pod = environment.get("POD_NAME") or environment.get("HOSTNAME", "")
        if not host or not pod:
            msg = (
                "--platform kubernetes: KUBERNETES_SERVICE_HOST or POD_NAME is not set, so this is no pod. Nothing was "
                "started"
            )
            raise ConfigurationError(msg)
        return cls(f"https://{f'[{host}]' if ':' in host else host}:{port}", pod)

    async def tell(self, held: int) -> None:
        """Write the annotations. An idle pod costs 0, as one without them."""
        annotations = {
            COST: str(held),
            EVICT: "false" if held else "true",
            DISRUPT: "true" if held else None,  # null removes it
        }
        try:
            token = self._token.read_text("utf-8").strip()  # it is replaced every hour
        except (OSError, ValueError) as error:
            raise Unanswered(f"the token of the service account cannot be read: {error}") from error
        answer = await call(
            "PATCH",
            self._url,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"},
            body=msgspec.json.encode({"metadata": {"annotations": annotations}}),
            ca_file=self._authority,
        )
        if answer.status != _OK:
            raise Unanswered(f"the API server answered {answer.status}: {answer.body[:300]!r}")
