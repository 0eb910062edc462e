"""A handler's signature: how a payload becomes arguments, and arguments a payload."""

import datetime as dt
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

from tenure import Context, PayloadInvalid, SyncContext
from tenure.errors import BadTask, ResultInvalid, ResultTooLarge
from tenure.tasks.signature import Signature


@dataclass
class Size:
    width: int
    height: int = 600


class Image(msgspec.Struct):
    name: str
    sizes: list[Size] = []


class Model:
    """As pydantic's models: it checks itself and dumps itself."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def model_validate(cls, value: dict[str, Any]) -> "Model":
        if not isinstance(value.get("number"), int):
            msg = "number is not an int"
            raise ValueError(msg)  # noqa: TRY004 - as pydantic does
        return cls(value["number"])

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return {"number": self.number}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and other.number == self.number

    __hash__ = None  # type: ignore[assignment]


def arguments(function: Callable[..., Any], body: bytes) -> Any:
    """Call the function with what a payload gives."""
    positional, keywords = Signature(function, "work").arguments(body)
    return function(*positional, **keywords)


def round_trip(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    return arguments(function, bytes(Signature(function, "work").body(args, keywords)))


def test_the_payloads_keys_are_the_parameters() -> None:
    def work(image: str, width: int = 800) -> tuple[str, int]:
        return image, width

    assert arguments(work, b'{"image": "a", "width": 5}') == ("a", 5)
    assert arguments(work, b'{"image": "a"}') == ("a", 800)
    assert bytes(Signature(work, "work").body(("a",), {"width": 5})) == b'{"image":"a","width":5}'


def test_keyword_only_and_positional_only_parameters_are_called_as_they_must_be() -> None:
    def work(first: int, /, second: int, *, third: int, fourth: int = 4) -> list[int]:
        return [first, second, third, fourth]

    assert arguments(work, b'{"third": 3, "first": 1, "second": 2}') == [1, 2, 3, 4]
    assert round_trip(work, 1, 2, third=3, fourth=9) == [1, 2, 3, 9]


def test_types_are_the_handlers_own() -> None:
    def work(size: Size, image: Image, model: Model, when: dt.datetime, how: Literal["fast", "slow"]) -> object:
        return size, image, model, when, how

    when = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    given = (Size(5), Image("a", [Size(1, 2)]), Model(7), when, "fast")
    assert round_trip(work, *given) == given


def test_annotations_may_be_constrained() -> None:
    def work(width: Annotated[int, msgspec.Meta(gt=0)]) -> int:
        return width

    with pytest.raises(PayloadInvalid, match=">= 1"):
        arguments(work, b'{"width": 0}')


def test_a_parameter_may_take_anything_if_it_says_so() -> None:
    def work(anything: Any, more: Any = None) -> tuple[Any, Any]:
        return anything, more

    assert arguments(work, b'{"anything": {"a": [1]}}') == ({"a": [1]}, None)


def _unannotated(image):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return image


def _yields(image: str) -> Any:
    yield image


async def _yields_async(image: str) -> Any:
    yield image


class _Plain: ...


def _takes_plain(thing: _Plain) -> None: ...


def _takes_many_plain(things: dict[str, list[_Plain]]) -> None: ...


async def _context_last(image: str, ctx: Context) -> None: ...


async def _typed_context_last(image: str, ctx: Context[Size]) -> None: ...


def _keywords(**rest: str) -> None: ...


def _delayed(user: str, delay: float) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_unannotated, "parameter image has no annotation.*write image: str"),
        (_yields, "yields"),
        (_yields_async, "yields"),
        (_Plain, "not a function"),
        (_takes_plain, "parameter thing has the type _Plain"),
        (_takes_many_plain, "parameter things has the type _Plain"),
        (_context_last, "the context comes first"),
        (_typed_context_last, "the context comes first"),
        (_keywords, r"\*\*rest cannot be filled"),
        (_delayed, "parameter delay has the name of an option of submit.*rename it"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_can_be_written_but_not_run_is_refused_with_what_to_do(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(BadTask, match=words):
        Signature(function, "work")


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(BadTask, match="give it one with name="):
        Signature(lambda: None, "<lambda>")


def test_plain_words_that_are_options_too_may_name_parameters() -> None:
    def work(id: str, key: str) -> tuple[str, str]:
        return id, key

    assert arguments(work, bytes(Signature(work, "work").body((), {"id": "1", "key": "a"}))) == ("1", "a")


def test_an_option_given_as_an_argument_is_told_where_it_belongs() -> None:
    def work(image: str) -> None: ...

    with pytest.raises(PayloadInvalid, match=r"work.bind\(…\).submit\(delay=…\) takes it; nothing was sent"):
        Signature(work, "work").body(("a.png",), {"delay": 30})


def test_a_mutable_default_is_allowed() -> None:
    def work(tags: list[str] = ["a"], size: Size = Size(1)) -> tuple[Any, ...]:  # noqa: B006, B008
        return tags, size

    assert arguments(work, b"{}") == (["a"], Size(1))


def test_keys_that_nobody_knows_are_ignored() -> None:
    def work(a: int) -> int:
        return a

    assert arguments(work, b'{"a": 1, "b": 2}') == 1


def test_a_handler_without_parameters_takes_an_empty_payload() -> None:
    def work() -> str:
        return "ran"

    assert arguments(work, b"{}") == "ran"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{}", "missing required field `image`"),
        (b'{"image": 5}', "Expected `str`, got `int`"),
        (b'{"image": "a", "width": "5"}', "Expected `int`, got `str` - at `$.width`"),
        (b"[1, 2]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`"),
        (b"{", "truncated"),
        (b'{"image": "\xff"}', "utf-8"),
        (b"", "truncated"),
    ],
)
def test_a_payload_that_does_not_fit_says_what_is_wrong(body: bytes, words: str) -> None:
    def work(image: str, width: int = 800) -> None: ...

    with pytest.raises(PayloadInvalid) as caught:
        arguments(work, body)
    assert str(caught.value).startswith("the payload does not fit work(image, width): ")
    assert words in str(caught.value)


def test_what_a_type_says_itself_is_passed_on() -> None:
    def work(model: Model) -> None: ...

    with pytest.raises(PayloadInvalid, match="number is not an int"):
        arguments(work, b'{"model": {"number": "x"}}')


@pytest.mark.parametrize(
    ("args", "keywords", "words"),
    [
        ((1, 2, 3), {}, "too many arguments"),
        ((1,), {"a": 1}, "given twice"),
        ((1,), {"c": 1}, "no parameter named c"),
        (("x",), {}, "Expected `int`"),
        ((), {}, "missing required field `a`"),
        ((object(),), {}, "object has no JSON form"),
        ((1, float), {}, "no JSON form"),
    ],
)
def test_a_call_that_could_not_be_carried_out_is_refused_at_once(
    args: tuple[Any, ...], keywords: dict[str, Any], words: str
) -> None:
    def work(a: int, b: Any = None) -> None: ...

    with pytest.raises(PayloadInvalid) as caught:
        Signature(work, "work").body(args, keywords)
    assert words in str(caught.value)


# --- ctx ------------------------------------------------------------------------------------------------


async def with_context(ctx: Context, a: int) -> None: ...
async def named_ctx(ctx, a: int) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
def with_sync_context(ctx: SyncContext, a: int) -> None: ...
async def without_context(a: int) -> None: ...
async def other_name(c: Context, a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "wants"),
    [
        (with_context, True),
        (named_ctx, True),
        (with_sync_context, True),
        (without_context, False),
        (other_name, True),
    ],
)
def test_the_context_comes_first_is_optional_and_no_part_of_the_payload(
    function: Callable[..., Any], wants: bool
) -> None:
    signature = Signature(function, "work")
    assert signature.wants_context is wants
    assert signature.arguments(b'{"a": 1}') == ((1,), {})


async def with_typed_context(ctx: Context[Size], a: int) -> None: ...
def with_typed_sync_context(context: SyncContext[dict[str, Any]], a: int) -> None: ...


@pytest.mark.parametrize("function", [with_typed_context, with_typed_sync_context])
def test_a_context_may_name_the_type_of_its_state(function: Callable[..., Any]) -> None:
    signature = Signature(function, "work")
    assert signature.wants_context
    assert signature.names == ("a",)


async def ctx_by_another_type(ctx: int) -> None: ...


def test_a_parameter_called_ctx_of_another_type_is_a_parameter() -> None:
    signature = Signature(ctx_by_another_type, "work")
    assert not signature.wants_context
    assert signature.arguments(b'{"ctx": 1}') == ((1,), {})


async def wrong_kind(ctx: SyncContext) -> None: ...
def wrong_kind_too(ctx: Context) -> None: ...
async def wrong_typed_kind(ctx: SyncContext[Size]) -> None: ...
async def star(*images: str) -> None: ...
async def stars(**images: str) -> None: ...
async def ambiguous(size: Size | Image) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (wrong_kind, "an async handler takes ctx: Context, not SyncContext"),
        (wrong_typed_kind, "an async handler takes ctx: Context, not SyncContext"),
        (wrong_kind_too, "a sync handler takes ctx: SyncContext, not Context"),
        (star, "\\*images cannot be filled"),
        (stars, "\\*images cannot be filled"),
        (ambiguous, "a type that no payload can be read into"),
    ],
)
def test_a_handler_that_no_payload_could_fill_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(BadTask, match=words):
        Signature(function, "work")


def test_an_annotation_that_cannot_be_resolved_is_refused() -> None:
    def work(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(BadTask, match="import the type at module level"):
        Signature(work, "work")


# --- results --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "encoded"),
    [
        (None, b"null"),
        ({"a": 1}, b'{"a":1}'),
        (Size(1, 2), b'{"width":1,"height":2}'),
        (Model(7), b'{"number":7}'),
        (dt.date(2026, 1, 1), b'"2026-01-01"'),
    ],
)
def test_results_become_json(result: Any, encoded: bytes) -> None:
    assert Signature(lambda: None, "work").encode_result(result, 100) == encoded


def test_a_result_without_a_json_form_is_refused() -> None:
    with pytest.raises(ResultInvalid, match="object has no JSON form"):
        Signature(lambda: None, "work").encode_result(object(), 100)


def test_a_result_over_the_limit_is_refused() -> None:
    signature = Signature(lambda: None, "work")
    assert signature.encode_result("x" * 8, 10) == b'"xxxxxxxx"'
    with pytest.raises(ResultTooLarge, match="work returned 11 bytes of JSON, and results may have 10"):
        signature.encode_result("x" * 9, 10)


def test_a_result_is_read_as_the_handlers_own_type() -> None:
    def size() -> Size:
        return Size(1, 2)

    def model() -> Model:
        return Model(7)

    assert Signature(size, "size").decode_result(b'{"width":1,"height":2}') == Size(1, 2)
    assert Signature(model, "model").decode_result(b'{"number":7}') == Model(7)
    with pytest.raises(ResultInvalid, match="does not fit its return type"):
        Signature(size, "size").decode_result(b'"large"')


def test_a_result_without_a_declared_type_is_plain_json() -> None:
    assert Signature(lambda: None, "work").decode_result(b'{"a":[1]}') == {"a": [1]}


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")], {"a": {"b": -float("inf")}}, (float("nan"),)])
def test_numbers_that_json_does_not_know_are_refused_and_never_null(value: Any) -> None:
    def work(x: Any) -> None: ...

    signature = Signature(work, "work")
    with pytest.raises(PayloadInvalid, match="NaN and infinity have no JSON form; nothing was sent"):
        signature.body((value,), {})
    with pytest.raises(ResultInvalid, match="NaN or infinity"):
        signature.encode_result(value, 100)


def test_none_is_still_null() -> None:
    def work(x: Any) -> None: ...

    assert bytes(Signature(work, "work").body(({"a": [None, 1.5]},), {})) == b'{"x":{"a":[null,1.5]}}'


@dataclass
class Measured:
    value: float


def test_a_number_that_json_does_not_know_is_found_inside_a_dataclass() -> None:
    with pytest.raises(ResultInvalid):
        Signature(lambda: None, "work").encode_result([Measured(float("nan"))], 100)


def test_object_takes_and_gives_anything() -> None:
    def work(x: object, y: dict[str, object]) -> dict[str, object]:
        return y

    assert arguments(work, b'{"x": [1], "y": {"a": null}}') == {"a": None}
    assert Signature(work, "work").decode_result(b'{"a":[1]}') == {"a": [1]}


@pytest.mark.parametrize("kind", [Iterable[int], _Plain, Hashable])
def test_a_result_of_a_type_that_json_does_not_know_is_read_as_plain_values(kind: Any) -> None:
    def work() -> None: ...

    work.__annotations__["return"] = kind
    assert Signature(work, "work").decode_result(b"[1,2]") == [1, 2]


def test_a_misspelt_parameter_is_told_with_what_was_meant() -> None:
    def work(image: str) -> None: ...

    with pytest.raises(PayloadInvalid, match=r"no parameter named imge; did you mean image\?; nothing was sent"):
        Signature(work, "work").payload({"imge": "a.png"})
