"""Makes small PDF files with text, as a program that knows little of PDF would."""

import zlib
from collections.abc import Sequence


def pdf(pages: Sequence[str]) -> bytes:
    """A document with a page for each text."""
    return _file([_content(text) for text in pages])


def bomb(size: int) -> bytes:
    """A document of one page whose content has `size` bytes once it is unpacked."""
    return _file([b"BT /F1 12 Tf 72 720 Td (" + b"a" * size + b") Tj ET"])


def _content(text: str) -> bytes:
    lines = [f"({_escaped(line)}) Tj 0 -14 Td" for line in text.splitlines()]
    return ("BT /F1 11 Tf 72 740 Td " + "\n".join(lines) + " ET").encode("latin-1", "replace")


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(contents: Sequence[bytes]) -> bytes:
    count = len(contents)
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, content in enumerate(contents):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * at} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        packed = zlib.compress(content, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    out, places = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
