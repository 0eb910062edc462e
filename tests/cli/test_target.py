"""From words to an app: each way in which that fails has its own sentence."""

from pathlib import Path

import pytest

from tenure.assembly import connect
from tenure.cli.target import find
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadURL
from tenure.url_options import safe_url

from .conftest import Run, answer


def test_an_app_is_found_in_the_current_folder(tenure: Run) -> None:
    assert answer(tenure("queues", "jobs:app", "--json")) == {"queues": []}


def test_a_url_is_enough_to_look(tenure: Run) -> None:
    assert tenure("queues", "jobs:app").exit_code == 0
    assert tenure("queues", "sqlite:///jobs.db").stdout == "No queue holds a message.\n"


def test_the_environment_names_the_default(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "sqlite:///jobs.db")
    assert tenure("submit", "resize", "{}", "--create").exit_code == 0
    assert tenure("queues").exit_code == 0


def test_no_target_at_all_is_explained(tenure: Run) -> None:
    result = tenure("queues")
    assert result.exit_code == 2
    assert result.stderr == (
        "error[bad_target]: no target: name an app (jobs:app) or a URL (sqlite:///jobs.db), or set TENURE_URL\n"
    )


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["submit", "jobs", "resize", "{}"], "(did you mean jobs:app?)"),
        (["submit", "jobs", "resize"], "(did you mean jobs:app?)"),
        (["show", "jobs", "m1"], "(did you mean jobs:app?)"),
        (["cancel", "nope.db", "m1"], "(did you mean sqlite:///nope.db?)"),
        (["purge", "slow"], "before 'slow'; or set TENURE_URL"),
    ],
)
def test_a_forgotten_attribute_is_guessed(tenure: Run, words: list[str], hint: str) -> None:
    result = tenure(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error[bad_target]: no target: name an app (jobs:app) or a URL")
    assert hint in result.stderr


def test_a_forgotten_attribute_is_guessed_where_there_is_a_default(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_URL", "jobs:app")
    result = tenure("submit", "jobs", "resize", "{}")
    assert "error[bad_target]: 'jobs' is not a target: it has no colon; did you mean jobs:app?" in result.stderr
    result = tenure("submit", "jobs", "resize")
    assert "error[payload_invalid]: the payload is not JSON" in result.stderr
    assert "(did you mean jobs:app?)" in result.stderr


def test_the_environment_may_name_an_app(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "jobs:app")
    assert tenure("submit", "resize", '{"image": 5}').exit_code == 2  # checked by the code
    assert tenure("submit", "resize", '{"image": "a"}', "--id", "m1").exit_code == 0
    assert answer(tenure("show", "m1", "--json"))["task"] == "resize"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("jobs", "error[bad_target]: 'jobs' is neither module:attribute (jobs:app) nor a URL"),
        ("jobs:", "did you mean jobs:app?"),
        ("nope.db", "did you mean sqlite:///nope.db?"),
        ("/srv/jobs.sqlite3", "did you mean sqlite:////srv/jobs.sqlite3?"),
        ("sqlite:/jobs.db", "error[bad_target]: 'sqlite:/jobs.db' is neither module:attribute (jobs:app) nor a URL"),
        ("sqlite:/jobs.db", "did you mean sqlite:///jobs.db?"),
        ("sqlite:/srv/jobs.db", "did you mean sqlite:////srv/jobs.db?"),
        ("redis:/localhost:6379/0", "did you mean redis://localhost:6379/0?"),
        ("redis:/:secret@localhost:6379/0", "did you mean redis://:…@localhost:6379/0?"),
        ("sqlte:///jobs.db", "did you mean sqlite:///jobs.db?"),
        ("jbos:app", "error[bad_target]: no module named 'jbos', neither in the current folder nor installed"),
        ("jbos:app", "did you mean 'jobs'?"),
        ("jobs.sub:app", "error[bad_target]: no module named 'jobs.sub'"),
        ("jobs:ap", "error[bad_target]: module 'jobs' has no attribute 'ap'; did you mean jobs:app?"),
        ("jobs:resize", "error[bad_target]: jobs:resize is a Task, not a Tenure app; did you mean jobs:app?"),
        ("json:loads", "error[bad_target]: json:loads is a function that wants s; only one that wants nothing makes"),
    ],
)
def test_what_leads_nowhere_is_explained(tenure: Run, target: str, sentence: str) -> None:
    result = tenure("queues", target)
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import nowhere\n", "error[import_failed]: module 'mine' cannot be imported: mine.py:1: ModuleNotFound"),
        ("def f():\n    return 1 / 0\n\nf()\n", "mine.py:2: ZeroDivisionError: division by zero"),
        ("x = (\n", "mine.py:1: SyntaxError: '(' was never closed"),
        ("raise SystemExit('no')\n", "mine.py:1: SystemExit: no"),
        ("import json\njson.loads('')\n", "mine.py:2: json.decoder.JSONDecodeError: "),
        ("from tenure import Tenure\napp = Tenure('nope://')\n", "error[bad_url]: 'nope://' names no broker"),
        ("from tenure import Tenure\napp = Tenure('nope://')\n", "(at mine.py:2)"),
    ],
)
def test_a_module_that_does_not_import_shows_where(tenure: Run, folder: Path, source: str, sentence: str) -> None:
    (folder / "mine.py").write_text(source)
    result = tenure("worker", "mine:app")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_a_module_prints_stays_out_of_the_json(tenure: Run, folder: Path) -> None:
    (folder / "loud.py").write_text("from jobs import app\nprint('hello')\n")
    result = tenure("queues", "loud:app", "--json")
    assert answer(result) == {"queues": []}
    assert result.stderr == "hello\n"


def test_a_function_that_makes_the_app_is_called(tenure: Run, folder: Path) -> None:
    (folder / "made.py").write_text(
        "import jobs\ndef make_app(name='x'):\n    return jobs.app\ndef other(): return 1\n"
    )
    assert tenure("queues", "made:make_app").exit_code == 0
    assert "made:other is a int, not a Tenure app" in tenure("queues", "made:other").stderr


def test_a_dotted_attribute_is_followed(tenure: Run, folder: Path) -> None:
    (folder / "deep.py").write_text("import jobs\nclass Apps:\n    app = jobs.app\n")
    assert tenure("queues", "deep:Apps.app").exit_code == 0


def test_a_password_is_not_shown() -> None:
    assert safe_url("redis://me:secret@host/0") == "redis://me:…@host/0"
    assert safe_url("redis://me:sec/r@et@host/0") == "redis://me:…@host/0"
    assert safe_url("redis+sentinel://h:1,g:2/s?sentinel_password=secret&db=1") == (
        "redis+sentinel://h:1,g:2/s?sentinel_password=…&db=1"
    )
    assert safe_url("sqlite:///jobs.db") == "sqlite:///jobs.db"
    assert safe_url("redis://host:6379/0") == "redis://host:6379/0"


@pytest.mark.parametrize(
    "url",
    [
        "azure://account?key=secret",
        "azure://account?sv=2022-11-02&sig=secret",
        "azure://account?connection_string=AccountName=account;AccountKey=secret",
        "azure://account?queue_endpoint=https://account.queue.core.windows.net/%3Fsv%3D2022%26sig%3Dsecret%2526",
        "sqs://AKIA:secret@eu-west-1",
        "sqs://eu-west-1?aws_secret_access_key=secret&session_token=secret",
        "sqs://eu-west-1?state=redis://:secret@host/0&create=yes",
        "sqs://eu-west-1?state=redis%3A%2F%2Fme%3Asecret%40host%2F0&create=yes",
        "sqs://eu-west-1?state=redis://host/0%3Fsentinel_password%3Dsecret",
        "AccountName=account;AccountKey=secret;QueueEndpoint=http://127.0.0.1:10001/account",
        "QueueEndpoint=http://127.0.0.1:10001/account;SharedAccessSignature=sv=2022-11-02&sig=secret",
    ],
)
def test_no_secret_of_a_cloud_is_shown(url: str) -> None:
    shown = safe_url(url)
    assert "=secret" not in shown
    assert "secret@" not in shown
    assert shown.count("secret") == shown.count("secret_access_key")
    assert "…" in shown


@pytest.mark.parametrize("place", ["sqs://eu-west-1", "azure://account"])
def test_whoever_sends_to_a_cloud_may_create_there_too(place: str) -> None:
    assert find(place, must_exist=False).url == f"{place}?create=yes"
    assert find(f"{place}?prefix=shop", must_exist=False).url == f"{place}?prefix=shop&create=yes"
    assert find(f"{place}?create=no", must_exist=False).url == f"{place}?create=no"
    assert find(place).url == place


def test_a_connection_string_is_no_target_and_not_shown(tenure: Run, folder: Path) -> None:
    result = tenure("queues", "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=secret;EndpointSuffix=x.net")
    assert result.exit_code == 2
    assert result.stderr.startswith("error[bad_target]: ")
    assert "secret" not in result.stderr
    assert "AZURE_STORAGE_CONNECTION_STRING" in result.stderr


@pytest.mark.parametrize(
    "url",
    ["redis://me:secret@host?prefx=1", "redis://me:secret@host:x", "reddis://me:secret@host", "redis://[me:secret@h"],
)
def test_an_error_about_a_url_does_not_tell_its_password(url: str) -> None:
    with pytest.raises(BadURL) as caught:
        connect(url, clock=SYSTEM_CLOCK)
    assert "secret" not in str(caught.value)
    assert "me:…@h" in str(caught.value)


def test_a_mistake_of_ours_is_one_line_and_asks_for_a_report(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("impossible\nin two lines")

    monkeypatch.setattr("tenure.cli.commands.queues.run", fail)
    result = tenure("queues", "jobs:app")
    assert result.exit_code == 70
    assert result.stderr.startswith("error[internal]: RuntimeError: impossible in two lines; this is a bug in Tenure")
    assert "TENURE_DEBUG=1" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_interruption_is_no_error(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tenure.cli.commands.queues.run", interrupt)
    result = tenure("queues", "jobs:app")
    assert result.exit_code == 130
    assert result.stderr.strip() == ""
