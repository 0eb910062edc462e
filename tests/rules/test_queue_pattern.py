"""Which queues are served: a table of cases."""

import pytest

from tenure.rules.queue_pattern import has_pattern, is_pattern, matches, served_of

#: Queue, served, excluded, and whether it is served.
CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], bool]] = {
    "a name": ("mail", ("mail",), (), True),
    "another name": ("mail", ("news",), (), False),
    "a name that begins alike": ("mail", ("mai",), (), False),
    "a name that goes on": ("mail", ("mails",), (), False),
    "nothing is served": ("mail", (), (), False),
    "a star alone": ("mail", ("*",), (), True),
    "a star at the start": ("acme-tasks", ("*-tasks",), (), True),
    "a star that stands for nothing": ("-tasks", ("*-tasks",), (), True),
    "a star at the end": ("acme-tasks", ("acme*",), (), True),
    "a star in the middle": ("acme-eu-tasks", ("acme-*-tasks",), (), True),
    "several stars": ("a-b-c", ("*-*-*",), (), True),
    "several stars, too few parts": ("a-b", ("*-*-*",), (), False),
    "stars side by side": ("mail", ("m**l",), (), True),
    "a star matches any length": ("x" * 500 + "-tasks", ("*-tasks",), (), True),
    "a pattern is for all of the name": ("acme-tasks2", ("*-tasks",), (), False),
    "upper case is not lower case": ("Acme-Tasks", ("*-tasks",), (), False),
    "a dot is a dot": ("axb", ("a.b*",), (), False),
    "a dot in the name": ("a.b", ("a.*",), (), True),
    "a question mark is itself": ("ab", ("a?*",), (), False),
    "brackets are themselves": ("a", ("[ab]*",), (), False),
    "brackets in a name": ("[ab]-tasks", ("[ab]*",), (), True),
    "a backslash is itself": ("a\\b", ("a\\*",), (), True),
    "every script": (
        "\N{CYRILLIC SMALL LETTER PE}\N{CYRILLIC SMALL LETTER O}",
        ("\N{CYRILLIC SMALL LETTER PE}*",),
        (),
        True,
    ),
    "a name among patterns": ("mail", ("*-tasks", "mail"), (), True),
    "a pattern among names": ("a-tasks", ("mail", "*-tasks"), (), True),
    "excluded by name": ("mail", ("mail",), ("mail",), False),
    "excluded from a pattern": ("a-tasks", ("*-tasks",), ("a-tasks",), False),
    "another one is excluded": ("a-tasks", ("*-tasks",), ("b-tasks",), True),
    "an exclusion is a name, no pattern": ("a-tasks", ("*-tasks",), ("*-tasks",), True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_queue_is_served_or_not(case: str) -> None:
    queue, served, excluded, expected = CASES[case]
    assert matches(queue, served, excluded) is expected
    assert served_of([queue], served, excluded) == ([queue] if expected else [])


def test_the_order_of_the_queues_is_kept_and_none_comes_twice() -> None:
    queues = ["c-tasks", "mail", "a-tasks", "b"]
    assert served_of(queues, ("a-*", "*-tasks", "c-tasks", "mail")) == ["c-tasks", "mail", "a-tasks"]
    assert served_of(queues, ("*",), {"mail"}) == ["c-tasks", "a-tasks", "b"]
    assert served_of([], ("*",)) == []


@pytest.mark.parametrize(("queue", "expected"), [("mail", False), ("*", True), ("a*b", True), ("a?", False)])
def test_a_star_makes_a_pattern(queue: str, *, expected: bool) -> None:
    assert is_pattern(queue) is expected
    assert has_pattern(["news", queue]) is expected


def test_no_queues_have_no_pattern() -> None:
    assert not has_pattern([])
