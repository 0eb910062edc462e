"""Chunks: by structure first, by size second, and nothing lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tenure.documents.chunk import Part
from tenure.documents.chunking import chunks_of


def test_paragraphs_below_one_heading_are_joined() -> None:
    (chunk,) = chunks_of([Part("one", ("H",)), Part("two", ("H",))])
    assert (chunk.number, chunk.text, chunk.heading) == (0, "one\n\ntwo", "H")


def test_a_heading_begins_a_chunk_where_the_one_before_is_large_enough() -> None:
    large = "word " * 60
    chunks = list(chunks_of([Part(large, ("A",)), Part("small", ("A", "B")), Part("text", ("A", "C"))]))
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [("A", large.strip()), ("A › B", "small\n\nC\n\ntext")]


def test_a_chunk_knows_the_page_on_which_it_begins() -> None:
    chunks = list(chunks_of([Part("a" * 500, page=1), Part("b" * 500, page=2), Part("c", page=3)]))
    assert [(chunk.number, chunk.page) for chunk in chunks] == [(0, 1), (1, 2)]


def test_a_large_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"This is sentence {number}." for number in range(100))
    chunks = list(chunks_of([Part(text)], size=200))
    assert all(chunk.text.endswith(".") and len(chunk.text) <= 200 for chunk in chunks)


_texts = st.text(alphabet="ab .\n", max_size=400)
_parts = st.lists(st.builds(Part, _texts, st.lists(st.sampled_from("AB"), max_size=2).map(tuple)), max_size=8)


@given(_parts)
def test_no_character_of_a_document_is_lost(parts: list[Part]) -> None:
    chunks = list(chunks_of(parts, size=50))
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))

    def letters(texts: list[str]) -> str:
        return re.sub(r"[^ab.]", "", "".join(texts))

    assert letters([part.text for part in parts]) == letters([chunk.text for chunk in chunks])
