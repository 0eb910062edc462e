"""Reading: each kind of document, and what is none, encrypted, damaged, too large, or a bomb."""

import asyncio
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pypdf
import pytest

from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.limits import MIB, Limits
from tenure.documents.reading.reader import Reading, read_document
from tenure.errors import MissingExtra

from .pdf_file import bomb, pdf

pytestmark = pytest.mark.real_time

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(body: str, prolog: str = "") -> bytes:
    """A Word document of a body."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"{prolog}<w:document {_W}><w:body>{body}</w:body></w:document>")
    return file.getvalue()


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


async def read(name: str, data: bytes, limits: Limits | None = None) -> Reading:
    return await read_document(name, data, limits or Limits())


async def refusal(name: str, data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(DocumentUnreadable) as error:
        await read(name, data, limits)
    return error.value.reason


async def test_a_pdf_is_read_page_by_page() -> None:
    pages = []
    data = pdf(["first (page)", "second page"])
    reading = await read_document("a.pdf", data, Limits(), on_page=lambda *page: pages.append(page))
    assert [(part.text.strip(), part.page) for part in reading.parts] == [("first (page)", 1), ("second page", 2)]
    assert reading.pages == 2
    assert pages == [(1, 2), (2, 2)]


async def test_a_word_document_keeps_its_headings_and_tables() -> None:
    row = "<w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr>"
    body = f"{paragraph('Leases', 'Heading1')}{paragraph('The text.')}<w:tbl>{row}</w:tbl>"
    reading = await read("a.docx", docx(body))
    assert [(part.text, part.headings) for part in reading.parts] == [
        ("The text.", ("Leases",)),
        ("a | b", ("Leases",)),
    ]


async def test_a_page_of_html_is_read_without_scripts_and_menus() -> None:
    page = (
        b"<html><head><title>T</title><script>no()</script></head><body><nav>no</nav>"
        b"<h1>Leases</h1><p>The &amp; <b>text</b>.</p><pre>a\n  b</pre></body>"
    )
    reading = await read("a.html", page)
    texts = [(part.text, part.headings) for part in reading.parts]
    assert texts == [("The & text.", ("Leases",)), ("a\n  b", ("Leases",))]


async def test_markdown_keeps_its_headings_and_its_blocks_whole() -> None:
    reading = await read("a.md", b"# One\n\ntext\n\n```sh\n# no heading\n\nls\n```\n\n## Two\n\nmore\n")
    texts = [(part.text, part.headings) for part in reading.parts]
    assert texts == [
        ("text", ("One",)),
        ("```sh\n# no heading\n\nls\n```", ("One",)),
        ("more", ("One", "Two")),
    ]


async def test_text_of_old_programs_is_read() -> None:
    assert (await read("a.txt", "Gr\u00fc\u00dfe".encode("cp1252"))).parts[0].text == "Gr\u00fc\u00dfe"
    assert (await read("a.txt", "Gr\u00fc\u00dfe".encode("utf-16"))).parts[0].text == "Gr\u00fc\u00dfe"


async def test_a_pdf_that_is_none_is_refused() -> None:
    assert "not a PDF" in await refusal("a.pdf", b"hello")
    assert "not a DOCX" in await refusal("a.docx", b"hello")
    assert "not a DOCX" in await refusal("a.docx", b"PK hello")
    assert "is not text" in await refusal("a.txt", b"\x00\x01")
    assert "of no kind" in await refusal("a.exe", b"MZ")


async def test_an_encrypted_pdf_is_refused() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(["secret"])))
    writer.encrypt("password", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    assert "is encrypted" in await refusal("a.pdf", file.getvalue())


async def test_a_damaged_pdf_is_refused() -> None:
    assert "damaged PDF" in await refusal("a.pdf", pdf(["text"] * 30)[:3000])


async def test_a_pdf_that_unpacks_to_gigabytes_is_refused() -> None:
    assert "bomb.pdf" in await refusal("bomb.pdf", bomb(100 * MIB))


async def test_a_pdf_that_takes_too_much_memory_is_refused() -> None:
    assert "takes more than 100 MiB" in await refusal("bomb.pdf", bomb(50 * MIB), Limits(memory=100 * MIB))


async def test_a_pdf_that_takes_too_long_is_refused() -> None:
    assert "takes too long" in await refusal("slow.pdf", pdf(["text"]), Limits(page_seconds=0.001))


async def test_the_process_that_reads_ends_with_its_worker() -> None:
    # A pipe that is not closed: it would wait for the file for ever.
    command = [sys.executable, "-m", "tenure.documents.reading.child", "a.pdf", "pdf", "{}", "1"]
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    assert await process.wait() == 1


async def test_a_word_document_that_unpacks_to_gigabytes_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as member:
        for _ in range(130):
            member.write(b" " * MIB)
    assert "unpacks to more than" in await refusal("bomb.docx", file.getvalue())


async def test_a_word_document_with_entities_that_multiply_is_refused() -> None:
    prolog = '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    assert "declares XML entities" in await refusal("a.docx", docx(paragraph("&b;"), prolog))


async def test_a_document_over_a_limit_is_refused_whole() -> None:
    assert "more than 1 MiB" in await refusal("a.txt", b"a" * (3 * MIB), Limits(size=MIB))
    assert "has 3 pages" in await refusal("a.pdf", pdf(["a", "b", "c"]), Limits(pages=2))
    assert "more than 10 characters" in await refusal("a.pdf", pdf(["long enough for it"]), Limits(characters=10))
    assert "more than 10 characters" in await refusal("a.md", b"long enough for it", Limits(characters=10))


async def test_a_document_without_text_is_refused_and_scans_are_named() -> None:
    assert "OCR" in await refusal("a.pdf", pdf([""]))
    assert "has no text" in await refusal("a.md", b"\n")


class TestDocling:
    """The plug-in, over a stand-in for the package: Docling itself fetches its models, which cannot be done here."""

    @pytest.fixture
    def docling(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        package = tmp_path / "docling"
        (package / "datamodel").mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "datamodel" / "__init__.py").touch()
        (package / "datamodel" / "base_models.py").write_text(
            "class DocumentStream:\n"
            "    def __init__(self, name, stream):\n        self.name, self.stream = name, stream\n"
        )
        (package / "document_converter.py").write_text(
            "class DocumentConverter:\n"
            "    def convert(self, source):\n"
            "        if not source.stream.read().startswith(b'%PDF'):\n            raise RuntimeError('no')\n"
            "        self.document = self\n        return self\n"
            "    def export_to_markdown(self):\n        return '# Head\\n\\n| a | b |\\n'\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] == "docling"]:
            del sys.modules[name]

    async def test_what_it_makes_of_a_document_is_read(self, docling: None) -> None:
        reading = await read_document("a.pdf", pdf(["text"]), Limits(), by_docling=True)
        assert [(part.text, part.headings) for part in reading.parts] == [("| a | b |", ("Head",))]

    async def test_what_it_cannot_read_is_refused(self, docling: None) -> None:
        with pytest.raises(DocumentUnreadable, match=r"Docling cannot read a\.pdf: no"):
            await read_document("a.pdf", b"\n%PDF-1.4", Limits(), by_docling=True)

    async def test_without_it_the_package_is_named(self) -> None:
        with pytest.raises(MissingExtra, match="pip install docling"):
            await read_document("a.pdf", pdf(["text"]), Limits(), by_docling=True)
