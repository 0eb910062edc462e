"""Find the files to read, and read their text. Links to folders are not followed, so there are no loops.

What cannot be read is no error of ours: `read` raises `Unreadable` with the reason, and the audit reports it.
Next: `auditing.py` parses the text.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

#: Folders of other people's code, caches and builds. One that is named by the user is read anyway.
_SKIPPED = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv", "virtualenv"}
_TEST_FOLDERS = {"test", "tests"}
_TEST_FILES = ("test_*.py", "*_test.py", "tests.py", "conftest.py")
#: A file of a person is a hundredth of it.
LARGEST_BYTES = 2_000_000


class Unreadable(Exception):
    """A file that cannot be audited; the text says why."""


def python_files(paths: Sequence[str], exclude: Sequence[str] = ()) -> list[str]:
    """Every file that is named, and every `*.py` below a folder that is, once and in order; none that is excluded."""
    found: dict[str, None] = {}
    for path in paths:
        # Names are kept as they were given: that is how people find them again.
        named = [] if _is_out(Path(path), exclude) else [path]
        for one in _below(path, exclude) if Path(path).is_dir() else named:
            found[str(Path(one))] = None
    return list(found)


def without_tests(files: Sequence[str], named: Sequence[str]) -> list[str]:
    """Leave out test code, by the names of files and of the folders below one that was named. A named file stays."""
    kept = {str(Path(one)) for one in named}
    folders = [one for one in map(Path, named) if one.is_dir()]
    return [one for one in files if one in kept or not _is_test(Path(one), folders)]


def _is_test(path: Path, named: Sequence[Path]) -> bool:
    inside = max((one for one in named if path.is_relative_to(one)), key=lambda one: len(one.parts), default=None)
    *folders, file = path.parts if inside is None else path.relative_to(inside).parts
    return not _TEST_FOLDERS.isdisjoint(folders) or any(fnmatch(file, pattern) for pattern in _TEST_FILES)


def _below(folder: str, exclude: Sequence[str]) -> Iterator[str]:
    unlisted: list[str] = []
    for root, folders, files in os.walk(folder, onerror=lambda error: unlisted.append(str(error.filename))):
        folders[:] = sorted(name for name in folders if _is_ours(name) and not _is_out(Path(root, name), exclude))
        for name in sorted(files):
            if name.endswith(".py") and not _is_out(Path(root, name), exclude):
                yield str(Path(root, name))
    yield from unlisted  # `read` reports it


def _is_ours(folder: str) -> bool:
    return not folder.startswith(".") and folder not in _SKIPPED and not folder.endswith(".egg-info")


def _is_out(path: Path, exclude: Sequence[str]) -> bool:
    """Whether a file is excluded: by its name, by its path, or by how its path ends."""
    plain = f"/{path.as_posix()}"
    return any(fnmatch(plain, one) or fnmatch(plain, f"*/{one.strip('/')}") for one in exclude)


def read(path: str) -> bytes:
    """The bytes of a file, if it is one and of a size that people write."""
    try:
        about = Path(path).stat()
        if stat.S_ISDIR(about.st_mode):
            msg = "the folder cannot be listed"
            raise Unreadable(msg)
        if not stat.S_ISREG(about.st_mode):  # a pipe would be waited for, a device has no end
            msg = "it is not a regular file"
            raise Unreadable(msg)
        if about.st_size > LARGEST_BYTES:
            msg = f"it has {about.st_size:,} bytes, and {LARGEST_BYTES:,} are read at most"
            raise Unreadable(msg)
        with Path(path).open("rb") as file:
            return file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise Unreadable(error.strerror or type(error).__name__) from error
