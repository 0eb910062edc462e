"""Both faces have the same names, the modules carry the names that existing code imports, and no SDK is loaded."""

import importlib
import inspect
import subprocess
import sys

import pytest

from tenure import standalone
from tenure.standalone import sync


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "visibility_timeout",
            "calculate_visibility_timeout validate_visibility_timeout get_recommended_timeout SAFETY_BUFFER_PERCENT",
        ),
        (
            "queue_message_handling",
            "delete_message_with_retry verify_message_deletion delete_queue_message_safe MessageDeletionTracker",
        ),
        ("visibility_timeout", "PROCESSING_TIME_ESTIMATES"),
        ("message_deduplication", "MessageDeduplicator DeduplicationRecord"),
        ("visibility_heartbeat", "VisibilityHeartbeat"),
        ("storage_queue_config", "StorageQueueConfig"),
        ("measuring", "measure_processing"),
    ],
)
def test_every_module_has_its_names(module: str, names: str) -> None:
    found = importlib.import_module(f"tenure.standalone.{module}")
    for name in names.split():
        assert hasattr(found, name), name
        assert name == "SAFETY_BUFFER_PERCENT" or name in standalone.__all__


def test_both_faces_have_the_same_names_and_parameters() -> None:
    assert sorted(standalone.__all__) == sorted(sync.__all__)
    for name in standalone.__all__:
        ours, theirs = getattr(standalone, name), getattr(sync, name)
        if inspect.iscoroutinefunction(ours):
            assert not inspect.iscoroutinefunction(theirs), name
        if inspect.isfunction(ours):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
        elif inspect.isclass(ours):
            assert _methods(ours) == _methods(theirs), name


def _methods(kind: type) -> dict[str, list[str]]:
    members = inspect.getmembers(kind, inspect.isfunction)
    return {name: list(inspect.signature(member).parameters) for name, member in members if not name.startswith("_")}


def test_no_sdk_is_imported() -> None:
    code = "import sys, tenure.standalone.sync; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"boto3", "botocore", "aiobotocore", "azure", "aiohttp", "sqlite3"} & set(said)
