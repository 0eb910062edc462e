"""The words of the commands on one client: `[TARGET] NAME`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from tenure.cli.target import split
from tenure.errors import UnknownQueue

#: For the command's argument.
WORDS = click.argument("words", nargs=-1, metavar="[TARGET] NAME")


def one_client(words: Sequence[str]) -> tuple[str | None, str]:
    """The target and the name of the client."""
    target, names = split(words)
    if len(names) != 1:
        raise click.UsageError("name one client; without TENURE_URL, after TARGET")
    return target, names[0]


@contextmanager
def saying_that_yes_helps() -> Iterator[None]:
    """Name the option by which a client that is not known is taken, where it is refused."""
    try:
        yield
    except UnknownQueue as error:
        raise UnknownQueue(f"{error}; add --yes if it has sent nothing yet") from error
