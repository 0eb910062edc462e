"""Platforms by their names, as `--platform` has them."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from tenure.errors import ConfigurationError
from tenure.platforms.azure_vm import AzureMachine
from tenure.platforms.ec2 import Ec2Instance
from tenure.platforms.ecs import EcsTask
from tenure.platforms.guard import Protector
from tenure.platforms.kubernetes import KubernetesPod
from tenure.platforms.notices import NoticeBoard

#: Those that hear what is held, and those that announce an end.
PROTECTING, ANNOUNCING = ("ecs", "kubernetes"), ("ec2", "azure")
PLATFORMS = (*PROTECTING, *ANNOUNCING)


class Platforms(msgspec.Struct, frozen=True):
    """What was chosen."""

    protectors: tuple[Protector, ...]
    boards: tuple[NoticeBoard, ...]


def check_platforms(names: Sequence[str]) -> None:
    """Raise `ConfigurationError` for a name that is not known."""
    for name in names:
        if name not in PLATFORMS:
            msg = f"--platform {name!r} is not known; there are: {', '.join(PLATFORMS)}. Nothing was started"
            raise ConfigurationError(msg)


def choose(names: Sequence[str], environment: Mapping[str, str] = os.environ) -> Platforms:
    """The platforms of these names. Raises `ConfigurationError` where we do not run on one."""
    check_platforms(names)
    protectors: list[Protector] = []
    boards: list[NoticeBoard] = []
    for name in dict.fromkeys(names):
        match name:
            case "ecs":
                protectors.append(EcsTask.from_environment(environment))
            case "kubernetes":
                protectors.append(KubernetesPod.from_environment(environment))
            case "ec2":
                boards.append(Ec2Instance.from_environment(environment))
            case "azure":
                boards.append(AzureMachine())
    return Platforms(tuple(protectors), tuple(boards))
