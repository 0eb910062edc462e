"""Names of clients, and their queues."""

import pytest

from tenure import BadArgument
from tenure.adapters.aws.naming import physical
from tenure.adapters.azure.naming import POISON, queue_name
from tenure.rules.arguments import is_queue
from tenure.rules.client_queue import (
    LONGEST_CLIENT,
    check_client,
    client_of_queue,
    is_client,
    queue_of_client,
    queues_of_clients,
)
from tenure.rules.queue_pattern import matches

NAMES = ("a", "0", "acme", "southhaven", "a-b", "acme-tasks", "tasks", "all", "webhooks", "a" * LONGEST_CLIENT, "x-1-y")

WRONG = {
    "": "is empty",
    "a.b": "has '.'",
    "..": "has '.'",
    "a/b": "has '/'",
    "../b": "has '.'",
    "a\\b": "has '\\\\'",
    "a_b": "has '_'",
    "a b": "has ' '",
    "a\n": "has '\\n'",
    "a*": "has '*'",
    "Acme": "upper case, which Azure",
    "zoë": "has '\\xeb'",
    "acme２": "has '\\uff12'",  # noqa: RUF001 - a digit, but not one of ASCII
    "-a": "begins or ends with a dash",
    "a-": "begins or ends with a dash",
    "a--b": "two in a row",
    "a" * 51: "has 51 characters",
    "a" * 64: "has 64 characters",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("namespace", [None, "shop"])
def test_a_name_comes_back_from_its_queue(name: str, namespace: str | None) -> None:
    assert is_client(name)
    queue = queue_of_client(name, namespace)
    assert client_of_queue(queue) == name
    assert queue.endswith(f"{name}-tasks")


@pytest.mark.parametrize("name", NAMES)
def test_every_store_takes_the_queue_of_a_client(name: str) -> None:
    queue = queue_of_client(name)
    assert is_queue(queue)
    assert queue_name("", queue) == queue
    assert len(queue + POISON) <= 63
    assert {physical("", queue, level, 3) for level in range(3)} == {queue, f"{queue}-low", f"{queue}-high"}


@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_no_queue_can_have_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(BadArgument) as caught:
        check_client(name)
    assert WRONG[name] in str(caught.value)
    assert "a-z, 0-9 and single dashes between them, at most 50 characters" in str(caught.value)


@pytest.mark.parametrize("name", [None, 5, b"acme", ["acme"]])
def test_what_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(BadArgument, match="is no text"):
        check_client(name)


@pytest.mark.parametrize(
    "queue", ["tasks", "-tasks", "acme", "acme-tasks-low", "Acme-tasks", "a.b-tasks", "*-tasks", "", "x/"]
)
def test_other_queues_are_no_clients(queue: str) -> None:
    assert client_of_queue(queue) is None


@pytest.mark.parametrize(
    ("clients", "queues"),
    [
        ("acme", ("acme-tasks",)),
        ("acme,demo", ("acme-tasks", "demo-tasks")),
        (["acme", "demo", "acme"], ("acme-tasks", "demo-tasks")),
        ("acme, a*", ("acme-tasks", "a*-tasks")),
        ("all", ("*-tasks",)),
        ("*", ("*-tasks",)),
        (["all"], ("*-tasks",)),
    ],
)
def test_clients_are_names_patterns_or_all(clients: str | list[str], queues: tuple[str, ...]) -> None:
    assert queues_of_clients(clients) == queues


@pytest.mark.parametrize("clients", ["", "a,,b", "A*", "a/*", [], ["a,b"], [5]])
def test_what_names_no_clients_is_refused(clients: object) -> None:
    with pytest.raises(BadArgument):
        queues_of_clients(clients)  # type: ignore[arg-type]


def test_a_pattern_of_clients_matches_their_queues() -> None:
    (pattern,) = queues_of_clients("a*")
    assert matches("acme-tasks", [pattern])
    assert not matches("demo-tasks", [pattern])
