"""`tenure documents recall`: how often the right document is among the first five, for each mode of search."""

from pathlib import Path

import click
import msgspec

from tenure.documents.cli.options import index_option, json_option, set_option, with_library
from tenure.documents.cli.terminal import say, say_json
from tenure.documents.library import Library
from tenure.documents.search import Mode
from tenure.errors import BadArgument

#: A document counts as found among so many.
_FIRST = 5
#: Passages that are looked at for the first documents: several may be of one.
_PASSAGES = 60


class Known(msgspec.Struct, frozen=True):
    """A question whose document is known."""

    question: str
    name: str


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """How one mode did."""

    mode: str
    questions: int
    at_1: float
    at_5: float
    #: 1 ÷ the place of the right document, on average.
    mean_reciprocal_rank: float
    #: The questions whose document was not among the first five.
    missed: list[str]


@click.command(short_help="Measure search with questions whose document is known.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@set_option
@index_option
@json_option
def recall(file: Path, document_set: str, index: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Measure search with the questions in FILE, one JSON object a line.

    {"question": "how long is a lease?", "name": "explanation/leases.md"}
    """
    try:
        known = msgspec.json.decode(b"[" + b",".join(file.read_bytes().splitlines()) + b"]", type=list[Known])
    except msgspec.DecodeError as error:
        raise BadArgument(f"{file} does not have one question a line: {error}") from error
    results = with_library(index, lambda library: _measure(library, document_set, known))
    if as_json:
        say_json(results)
        return
    say(f"{len(known)} questions    recall@1  recall@5    MRR")
    for one in results:
        say(f"{one.mode:<15}{one.at_1:>8.0%}{one.at_5:>10.0%}{one.mean_reciprocal_rank:>7.2f}")


async def _measure(library: Library, document_set: str, known: list[Known]) -> list[Recall]:
    modes = [mode for mode in (Mode.TEXT, Mode.VECTOR, Mode.HYBRID) if library.embedder or mode is Mode.TEXT]
    return [await _measure_mode(library, document_set, known, mode) for mode in modes]


async def _measure_mode(library: Library, document_set: str, known: list[Known], mode: Mode) -> Recall:
    places: list[int | None] = []
    for one in known:
        hits = await library.search(one.question, document_set=document_set, limit=_PASSAGES, mode=mode)
        names = list(dict.fromkeys(hit.name for hit in hits))
        places.append(names.index(one.name) + 1 if one.name in names else None)
    total = max(len(known), 1)
    return Recall(
        mode=mode, questions=len(known), at_1=sum(place == 1 for place in places) / total,
        at_5=sum(place is not None and place <= _FIRST for place in places) / total,
        mean_reciprocal_rank=sum(1 / place for place in places if place) / total,
        missed=[one.question for one, place in zip(known, places, strict=True) if place is None or place > _FIRST],
    )  # fmt: skip
