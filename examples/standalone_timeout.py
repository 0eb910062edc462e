"""How long to hide a message, from estimates and from what was measured; and which runs came too close.

    python standalone_timeout.py

Needs no queue and no account.
"""

from tenure.standalone import (
    PROCESSING_TIME_ESTIMATES,
    Measurement,
    calculate_visibility_timeout,
    get_recommended_timeout,
    measure_processing,
    validate_visibility_timeout,
)

measured: list[Measurement] = []


@measure_processing("thumbnailer", "shrink", visibility_timeout=30, report=measured.append)
def shrink(image: str) -> str:
    """Your work; a logger of yours gets duration_ms and timeout_risk of every run."""
    return f"small-{image}"


def main() -> None:
    """Estimates first, then measurements."""
    for name in PROCESSING_TIME_ESTIMATES:
        slow = calculate_visibility_timeout(name, use_max=True)
        print(f"{name}: {calculate_visibility_timeout(name)} s, if it gets slow {slow} s")

    shrink("a.png")
    print("risk of one run:", measured[0].timeout_risk)

    week = [2000.0] * 950 + [20_000.0] * 50  # milliseconds: one run in twenty is slow
    advice = get_recommended_timeout("thumbnailer", week)
    print(f"thumbnailer: {advice['recommended_timeout_seconds']} s, because {advice['reasoning']}")
    for timeout in (24, advice["recommended_timeout_seconds"]):
        fits = validate_visibility_timeout(timeout, max(week))
        print(f"{timeout} s {'is enough' if fits else 'is too short'}")


if __name__ == "__main__":
    main()
