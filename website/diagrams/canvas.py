"""What the drawings are made of: boxes, arrows and words, in the hues of the dashboard, for light and dark ground."""

from html import escape

_STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1d1d1b }
  .strong { font-weight: 620; font-size: 14px }
  .small { font-size: 12px; fill: #5f5e5a }
  .of-held { fill: #2463d1 } .of-done { fill: #37764f } .of-dead { fill: #c22f2f }
  .box { fill: #ffffff; stroke: #cfcdc7; stroke-width: 1.2 }
  .ground { fill: #f5f4f1; stroke: #dddbd6 }
  .held { fill: #edf2fc; stroke: #3d7be6 }
  .done { fill: #edf6f0; stroke: #4f9a72 }
  .dead { fill: #fdf3f2; stroke: #d94a4a }
  .line { fill: none; stroke: #6f6d68; stroke-width: 1.5 }
  .line-held { stroke: #2463d1 } .line-done { stroke: #37764f } .line-dead { stroke: #c22f2f }
  .dashed { stroke-dasharray: 5 4 }
  .head { fill: #6f6d68 } .head-held { fill: #2463d1 } .head-done { fill: #37764f } .head-dead { fill: #c22f2f }
  .axis { stroke: #dddbd6; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e9e8e5 } .small { fill: #a9a8a3 }
    .of-held { fill: #7aa9f8 } .of-done { fill: #7dbd9b } .of-dead { fill: #f67d7d }
    .box { fill: #202327; stroke: #45494f } .ground { fill: #17191c; stroke: #34373c }
    .held { fill: #1c2740; stroke: #5b92ee } .done { fill: #18281f; stroke: #5fa883 }
    .dead { fill: #2b1a1c; stroke: #e25f5f } .line { stroke: #94928c }
    .line-held { stroke: #7aa9f8 } .line-done { stroke: #7dbd9b } .line-dead { stroke: #f67d7d }
    .head { fill: #94928c } .head-held { fill: #7aa9f8 } .head-done { fill: #7dbd9b } .head-dead { fill: #f67d7d }
    .axis { stroke: #34373c }
  }
"""

Point = tuple[float, float]


class Canvas:
    """A drawing that is being made."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts: list[str] = []
        self._size = width, height
        self._title = title

    def box(
        self, x: float, y: float, width: float, height: float, *lines: str, kind: str = "", left: bool = False
    ) -> None:
        """A box with words in its middle, or from its top left corner; the first line is strong."""
        self._parts.append(
            f'<rect class="box {kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="9"/>'
        )
        if left:
            starts, at, anchor = y + 24, x + 16, "start"
        else:
            starts, at, anchor = y + height / 2 - (len(lines) - 1) * 9 + 5, x + width / 2, "middle"
        for number, line in enumerate(lines):
            self.words(at, starts + number * 18, line, kind="small" if number else "strong", anchor=anchor)

    def words(self, x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> None:
        """One line of words."""
        self._parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: Point, kind: str = "", both: bool = False, dashed: bool = False, label: str = "",
              at: Point | None = None, anchor: str = "middle") -> None:  # fmt: skip
        """A line through points, with a head at its end; `at`: where its label is."""
        of = f"-{kind}" if kind else ""
        start = _inside(points[1], points[0]) if both else points[0]
        inner = [start, *points[1:-1], _inside(points[-2], points[-1])]
        path = " ".join(f"{x:g},{y:g}" for x, y in inner)
        self._parts.append(f'<polyline class="line line{of}{" dashed" if dashed else ""}" points="{path}"/>')
        self._head(points[-2], points[-1], of)
        if both:
            self._head(points[1], points[0], of)
        if label and at:
            self.words(*at, label, kind=f"small of{of}" if of else "small", anchor=anchor)

    def _head(self, before: Point, tip: Point, of: str) -> None:
        (x0, y0), (x, y) = before, tip
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = (x - x0) / length, (y - y0) / length
        back = x - dx * 9, y - dy * 9
        corners = [(x, y), (back[0] - dy * 4.5, back[1] + dx * 4.5), (back[0] + dy * 4.5, back[1] - dx * 4.5)]
        self._parts.append(f'<polygon class="head{of}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>')

    def line(self, x0: float, y0: float, x1: float, y1: float, kind: str = "axis") -> None:
        """A straight line."""
        self._parts.append(f'<line class="{kind}" x1="{x0:g}" y1="{y0:g}" x2="{x1:g}" y2="{y1:g}"/>')

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """A filled circle."""
        self._parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def svg(self) -> str:
        """The file."""
        width, height = self._size
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        body = "\n".join(self._parts)
        return f"{head}\n<title>{escape(self._title)}</title>\n<style>{_STYLE}</style>\n{body}\n</svg>\n"


def _inside(before: Point, tip: Point) -> Point:
    """Where a line ends whose head has its tip there."""
    (x0, y0), (x, y) = before, tip
    length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
    return round(x - (x - x0) / length * 7, 1), round(y - (y - y0) / length * 7, 1)
