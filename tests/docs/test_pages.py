"""Every block of every page is run as it stands, in an empty folder, as a reader would.

- Blocks of a page share a folder and run in order.
- `python` with a first line such as `# jobs.py` becomes that file. Any other goes to one interpreter for the page,
  where names stay and `await` is allowed, as in a notebook; after a file was written it is a new one.
- Files named `test_*.py` are run by pytest when the page is at its end.
- `sh` goes to one shell for the page, with Tenure's command and its Python on the PATH. No command may fail.
- A `text` block right below either is what it shows, with `…` for what differs from run to run.
- A page that names a server on this machine, as `redis://localhost:6379`, gets one of its own, wherever that is; what
  is typed and shown names it as the page does. So do pages with the stand-ins for SQS and for Azure.
- A mark above a block says what else is expected (`markdown.py`). A block that cannot be run says why, and there
  are few of them.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.examples.program import free_port
from tests.servers import binary, start_redis
from tests.servers.aws import start_aws
from tests.servers.azure import start_azure
from tests.standalone.environment import aws_environment, azure_environment

from tenure.clock import SYSTEM_CLOCK

from .interpreter import Interpreter
from .markdown import PAGES, ROOT, Block, blocks_of, matches
from .shell import Shell

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PATIENCE_SECONDS = 60.0
#: Where pages say that Redis is, and the stand-ins for clouds.
REDIS = "localhost:6379"
SQS = "localhost:4566"
#: And our own server.
SERVER = "8383"
METRICS = "9100"
#: Pages with programs of other task queues.
PEERS = {"come-from-celery", "come-from-dramatiq", "come-from-rq", "come-from-arq"}
AZURE = {"blob": "127.0.0.1:10000", "queue": "127.0.0.1:10001", "table": "127.0.0.1:10002"}


class Reader:
    """Somebody who pastes a page block by block."""

    def __init__(
        self,
        folder: Path,
        places: Mapping[str, str] = MappingProxyType({}),
        clouds: Mapping[str, str] | None = None,
        python: Path = Path(sys.executable),
    ) -> None:
        """Work in `folder`; `places` says where that really is what a page calls `localhost:6379`.

        `clouds` is the environment by which SDKs find a service; `python` is first on the PATH.
        """
        self._folder = folder
        self._places = places
        wanted = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "PYTHON"))}
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = wanted | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | dict(clouds or {})
        if SERVER in self._places:
            self._environment["TENURE_SERVER_PORT"] = self._places[SERVER]
        self._interpreter: Interpreter | None = None
        self._shell: Shell | None = None

    def paste(self, block: Block) -> None:
        """Do what the block says."""
        for named, real in self._places.items():
            block = replace(block, code=block.code.replace(named, real))
        if block.language == "sh":
            self._paste_shell(block)
        elif block.file:
            (self._folder / block.file).write_text(block.code, encoding="utf-8")
            self._forget_modules()
        else:
            self._paste_python(block)

    def _paste_python(self, block: Block) -> None:
        self._interpreter = self._interpreter or Interpreter(self._folder, self._environment)
        said, error = self._interpreter.run(block.code, block.place)
        verb, _, name = block.how.partition(" ")
        if verb == "raises":
            assert f"{name}:" in error, f"{block.place}: {error or 'no error'}"
        else:
            assert not error, f"{block.place}: {error}"
        self._compare(block, said)

    def _paste_shell(self, block: Block) -> None:
        self._shell = self._shell or Shell(self._folder, self._environment)
        until = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
        while True:
            said, failed = self._shell.run(block.code)
            shows = block.shows is None or matches(block.shows, said)
            if shows or block.how != "until it shows" or SYSTEM_CLOCK.monotonic() > until:
                break
            time.sleep(0.1)
        verb, _, code = block.how.partition(" ")
        expected = [int(code)] if verb == "exits" else []
        assert [exit_code for exit_code, _ in failed] == expected, f"{block.place}: {failed}\n{said}"
        self._compare(block, said)

    def _compare(self, block: Block, said: str) -> None:
        if block.shows is not None:
            for named, real in self._places.items():
                said = said.replace(real, named)
            assert matches(block.shows, said), f"{block.place} shows\n{block.shows}\nand it said\n{said}"

    def run_tests(self) -> None:
        """Run the files that are tests, as their reader would."""
        if any(self._folder.glob("test_*.py")):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            ended = subprocess.run(
                command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stdout

    def _forget_modules(self) -> None:
        if self._interpreter is not None:
            self._interpreter.close()
            self._interpreter = None

    def close(self) -> None:
        """Leave nothing running."""
        self._forget_modules()
        if self._shell is not None:
            self._shell.close()


@contextmanager
def _servers_of(page: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Where the servers are that the page speaks of."""
    text = page.read_text(encoding="utf-8")
    places: dict[str, str] = {}
    with ExitStack() as stack:
        if f"redis://{REDIS}" in text:
            redis = start_redis("valkey9", folder)
            stack.callback(redis.stop)
            places[REDIS] = f"localhost:{redis.port}"
        if f"http://{SQS}" in text:
            aws = start_aws("ministack")
            stack.callback(aws.kill)
            places[SQS] = f"localhost:{aws.port}"
        if f"http://{AZURE['queue']}" in text:
            azure = start_azure()
            stack.callback(azure.kill)
            places |= {AZURE[service]: f"127.0.0.1:{port}" for service, port in azure.ports.items()}
        if f"http://127.0.0.1:{SERVER}" in text:
            places[SERVER] = str(free_port())
        if f"http://127.0.0.1:{METRICS}" in text:
            places[METRICS] = str(free_port())
        yield places


def _clouds_of(page: Path) -> dict[str, str]:
    """The environment for pages that use a bare SDK."""
    text = page.read_text(encoding="utf-8")
    aws = aws_environment() if "import boto3" in text else {}
    return aws | (azure_environment() if "from azure." in text else {})


def _python_of(page: Path) -> Path:
    """Where the page's programs are: those of other task queues have an environment of their own."""
    return binary("peers") if page.stem in PEERS else Path(sys.executable)


@pytest.mark.scenario
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_does_what_the_page_says(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if "| jq " in page.read_text(encoding="utf-8") and shutil.which("jq") is None:
        pytest.skip("jq is not here: apt-get install jq")
    with (
        _servers_of(page, tmp_path_factory.mktemp("servers")) as places,
        closing(Reader(tmp_path, places, _clouds_of(page), _python_of(page))) as reader,
    ):
        for block in blocks_of(page):
            if block.language in ("python", "sh") and not block.why_not:
                reader.paste(block)
        reader.run_tests()


def test_every_file_of_a_page_is_used() -> None:
    for page in PAGES:
        blocks = blocks_of(page)
        for block in (one for one in blocks if one.file):
            name = (block.file or "").removesuffix(".py")
            others = "".join(other.code for other in blocks if other is not block)
            is_used = name.startswith("test_") or name == "conftest" or re.search(rf"\b{name}\b", others)
            assert is_used, f"{block.place}: nobody runs {block.file}"


def test_blocks_are_of_a_kind_that_is_run_or_shown() -> None:
    strange = [block.place for block in BLOCKS if block.language not in ("python", "sh", "text")]
    assert not strange, "write commands as sh, what they print as text"


def test_no_block_runs_until_its_reader_ends_it() -> None:
    for_ever = re.compile(
        r"^(?:tenure worker (?!.*--until-empty)|tenure serve |uvicorn |flask |tail -f|tenure .*--watch).*$",
        re.MULTILINE,
    )
    lines = [(block.place, line) for block in BLOCKS if _is_run(block) for line in for_ever.findall(block.code)]
    assert [one for one in lines if not one[1].endswith("&")] == [], "a worker ends by itself with --until-empty"


def _is_run(block: Block) -> bool:
    return block.language == "sh" and not block.why_not


def test_every_mark_is_understood() -> None:
    words = {block.how.partition(" ")[0] for block in BLOCKS} - {""}
    assert words <= {"raises", "exits", "until"}
    assert all(block.shows for block in BLOCKS if block.how.startswith("until"))
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    marked = sum(bool(block.how or block.why_not) for block in BLOCKS)
    #: Between these a command puts what it has measured.
    filled = len(re.findall(r"<!-- \w+: (?:begin|end) -->", texts))
    assert texts.count("<!--") == marked + filled, "a mark stands in the line above its block"


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    # Those of runbooks are run together, in one store (`test_runbooks.py`).
    left_out = [block for block in BLOCKS if block.why_not and block.page.parent.name != "runbooks"]
    # What needs Docker, a cluster or root cannot be run by any test here.
    could_run = [block.place for block in left_out if not block.why_not.startswith("it needs")]
    assert len(could_run) <= 3, could_run
    assert all(len(block.why_not) > 10 for block in left_out)
    run = [block for block in BLOCKS if block.language in ("python", "sh")]
    assert len(run) > 40
