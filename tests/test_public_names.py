"""The package `tenure`: its names are imported when they are used, and not before."""

import subprocess
import sys
from typing import Any

import pytest

import tenure


@pytest.mark.parametrize("name", tenure.__all__)
def test_every_public_name_is_there(name: str) -> None:
    there: Any = getattr(tenure, name)
    assert getattr(there, "__name__", name) == name
    assert name in dir(tenure)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        getattr(tenure, "Nothing")  # noqa: B009 - mypy knows that it is not there


def test_modules_of_the_package_are_found_by_their_name() -> None:
    code = "import sys, tenure; assert 'tenure.app' not in sys.modules; print(tenure.errors.BadURL.code)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "bad_url\n"
