"""What the package says about itself is true: its extras bring what the code imports, its Pythons are tested."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from tests.rota import VERSIONS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: What code imports of a package, where that is not its name. aiohttp is the transport that Azure's SDK asks for.
IMPORTED = {"azure-data-tables": "azure.data.tables", "azure-identity": "azure.identity",
            "azure-monitor-opentelemetry-exporter": "azure.monitor.opentelemetry.exporter",
            "azure-storage-blob": "azure.storage.blob", "azure-storage-queue": "azure.storage.queue",
            "opentelemetry-api": "opentelemetry.trace",
            "opentelemetry-semantic-conventions": "opentelemetry.semconv"}  # fmt: skip


def _imports() -> set[str]:
    """Every module that Tenure's code imports, with the packages above it."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                found.add(node.module)
                found.update(f"{node.module}.{name.name}" for name in node.names)
            elif isinstance(node, ast.Import):
                found.update(name.name for name in node.names)
    return {".".join(name.split(".")[: end + 1]) for name in found for end in range(name.count(".") + 1)}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_only_packages_that_the_code_imports(extra: str) -> None:
    imports = _imports()
    packages = [re.match(r"[\w-]+", requirement)[0] for requirement in EXTRAS[extra]]  # type: ignore[index]
    assert packages
    assert [name for name in packages if IMPORTED.get(name, name) not in imports] == []


def test_the_pythons_that_the_package_names_are_those_that_the_tests_run_on() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert f">={named[0]}" == PROJECT["requires-python"]
    assert set(named) <= set(VERSIONS)


def test_no_classifier_promises_windows() -> None:
    systems = [line for line in PROJECT["classifiers"] if line.startswith("Operating System ::")]
    assert systems
    assert not [line for line in systems if "Windows" in line or "Independent" in line]
