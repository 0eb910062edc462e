"""The map is true: its states, verbs and rooms are those of the code."""

import re
from pathlib import Path

from tenure.broker import Broker
from tenure.errors import TenureError
from tenure.message import MessageState

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def _transitions() -> list[tuple[str, str, str]]:
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
    return re.findall(r"^\s+(\S+) --> (\S+): (.+)$", diagram, re.MULTILINE)


def test_the_diagram_has_the_states_of_the_code() -> None:
    drawn = {state for start, end, _ in _transitions() for state in (start, end)} - {"[*]"}
    assert drawn == {state.value for state in MessageState}


def test_every_arrow_is_a_verb_of_the_broker() -> None:
    words = {word for _, _, label in _transitions() for word in re.split(r", | or ", label)}
    verbs = {word.split(" ")[0] for word in words} - {"due"}
    assert verbs
    assert all(hasattr(Broker, verb) for verb in verbs), verbs


def test_every_room_is_on_the_map() -> None:
    rooms = PAGE.split("## The rooms")[1].split("## The path")[0]
    package = ROOT / "src" / "tenure"
    names = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    missing = {name for name in names - {"__init__", "__main__"} if not re.search(rf"\b{name}\b", rooms)}
    assert not missing


def test_every_error_is_in_the_tree_with_its_code() -> None:
    def kinds(kind: type[TenureError]) -> list[type[TenureError]]:
        return [kind, *(found for sub in kind.__subclasses__() for found in kinds(sub))]

    import tenure.errors

    tree = tenure.errors.__doc__ or ""
    ours = [kind for kind in kinds(TenureError) if kind.__module__ == "tenure.errors"]
    leaves = [kind for kind in ours if not any(sub in ours for sub in kind.__subclasses__())]
    assert len(leaves) > 15
    for kind in leaves:
        assert re.search(rf"\b{kind.__name__}\s+{kind.code}\b", tree), kind
    codes = [kind.code for kind in ours]
    assert len(codes) == len(set(codes))
