"""What is told of a result: one list of measures for the table, the bars and the picture."""

import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from tenure.simulation.bars import WIDTH, bar, bars
from tenure.simulation.chart import ChartScale
from tenure.simulation.durations import drawn
from tenure.simulation.fleet import scaling_of
from tenure.simulation.measure import MEASURES, measures_for, share, span
from tenure.simulation.policy import policy_of
from tenure.simulation.pricing import pricing_of
from tenure.simulation.result import Result, quantile
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario
from tenure.simulation.svg import svg

PRICING = pricing_of("sqs")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def results() -> list[Result]:
    scenario = Scenario(works=drawn("lognormal:45:0.6", 100, 1), workers=3, slots=4, crash_rate=0.05)
    return [simulate(scenario, policy_of(text)) for text in ("fixed:90", "heartbeat:30")]


@pytest.fixture(scope="module")
def scaled() -> list[Result]:
    scenario = Scenario(works=drawn("fixed:120", 20, 1), workers=3, slots=1, rate=0.02)
    return [simulate(scenario, policy_of("heartbeat:30"), scaling_of("backlog:300"))]


def test_quantiles_are_values_that_were_seen() -> None:
    assert quantile([], 0.5) is None
    assert quantile([1.0], 0.99) == 1.0
    assert quantile([float(n) for n in range(1, 101)], 0.5) == 50.0
    assert quantile([float(n) for n in range(1, 101)], 0.99) == 99.0


def test_none_is_a_dash_and_a_little_is_not_nothing() -> None:
    assert (share(None), share(0.0), share(0.00001), share(0.0123), share(0.5)) == (
        "–",
        "0.00 %",
        "<0.01 %",
        "1.23 %",
        "50.0 %",
    )
    assert [span(seconds) for seconds in (None, 1.25, 61, 600, 6420, 9000, 9e5)] == [
        "–", "1.2 s", "61 s", "10.0 min", "107 min", "2.5 h", "10.4 d",
    ]  # fmt: skip


def test_dollars_are_requests_and_writes_at_their_prices(results: list[Result]) -> None:
    for result in results:
        requests, writes = result.requests_a_message, result.writes_a_message
        assert requests is not None
        assert writes is not None
        expected = requests * 0.40 + writes * 0.625
        assert PRICING.dollars_a_million(result) == pytest.approx(expected)
    assert results[0].writes_a_message == 0


def test_no_line_of_the_bars_is_over_eighty_columns(results: list[Result]) -> None:
    lines = bars(results, PRICING)
    assert all(len(line) <= WIDTH for line in lines)
    drawn_labels = [measure.label for measure in MEASURES if measure.is_drawn]
    assert [line for line in lines if line in drawn_labels] == drawn_labels


def test_in_a_narrow_terminal_bars_are_shorter(results: list[Result]) -> None:
    wide, narrow = bars(results, PRICING), bars(results, PRICING, 60)
    assert max(map(len, wide)) == WIDTH
    assert max(map(len, narrow)) == 60
    assert [line.rstrip("█▏▎▍▌▋▊▉ ") for line in narrow] == [line.rstrip("█▏▎▍▌▋▊▉ ") for line in wide]


def test_a_bar_is_as_long_as_its_part_and_never_vanishes() -> None:
    assert bar(10.0, 10.0, 20) == "█" * 20
    assert bar(5.0, 10.0, 20) == "█" * 10
    assert bar(0.001, 10.0, 20) == "▏"
    assert bar(0.0, 10.0, 20) == bar(None, 10.0, 20) == bar(0.0, 0.0, 20) == ""


def test_the_picture_is_whole_and_needs_nothing_else(results: list[Result]) -> None:
    text = svg(results, PRICING, "tenure <simulate>", "100 messages & more")
    root = ET.fromstring(text)  # noqa: S314 - our own
    told = "".join(root.itertext())
    assert "tenure <simulate>" in told
    assert all(measure.label in told for measure in MEASURES if measure.is_drawn)
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"<script|href|url\(|@import", text)


def test_nothing_in_the_picture_lies_outside_of_it(results: list[Result], scaled: list[Result]) -> None:
    for shown in (results, scaled):
        root = ET.fromstring(svg(shown, PRICING, "t", "s"))  # noqa: S314 - our own
        width, height = (float(root.attrib[name]) for name in ("width", "height"))
        for rect in root.iter(f"{SVG}rect"):
            if "x" in rect.attrib:
                assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width
        for text in root.iter(f"{SVG}text"):
            long = 6.2 * len("".join(text.itertext()))
            left = float(text.attrib["x"]) - (long if text.get("text-anchor") == "end" else 0.0)
            assert 0 <= left < left + long <= width
            assert 0 <= float(text.attrib["y"]) <= height
        for line in (*root.iter(f"{SVG}polyline"), *root.iter(f"{SVG}polygon")):
            points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
            assert all(0 <= x <= width and 0 <= y <= height for x, y in points)


def test_a_long_description_has_as_many_lines_as_it_needs(results: list[Result]) -> None:
    words = "; ".join(["10,000 messages of a file"] * 9)
    texts = ["".join(text.itertext()) for text in ET.fromstring(svg(results, PRICING, "t", words)).iter(f"{SVG}text")]  # noqa: S314 - our own
    lines = [text for text in texts if " of a" in text or text == "file"]
    assert len(lines) > 1
    assert " ".join(lines) == words


def test_charts_have_one_scale_and_a_column_without_an_end_is_cut(scaled: list[Result]) -> None:
    (ended,) = scaled
    stuck = msgspec.structs.replace(ended, policy="stuck", stuck=True, seconds=9 * ended.seconds)
    scale = ChartScale.of([ended, stuck])
    assert scale.seconds == ended.seconds
    assert scale == ChartScale.of(scaled)
    text = svg([ended, stuck], PRICING, "t", "s")
    assert f"the first {span(ended.seconds)} of {span(stuck.seconds)}" in text
    assert text.count("the first") == 1


def test_worker_hours_are_told_where_workers_scale(results: list[Result], scaled: list[Result]) -> None:
    assert measures_for(results) == MEASURES
    assert [measure.name for measure in measures_for(scaled)][-2:] == ["worker_hours", "interrupted"]
    assert "polyline" in svg(scaled, PRICING, "t", "s")
