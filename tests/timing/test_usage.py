"""The documented table comes out of the formula."""

import pytest

from tenure.timing.profile import PROFILES, Profile
from tenure.timing.usage import Usage, usage_of, usages


def test_the_documented_leases_come_out_with_their_use_and_their_margin() -> None:
    assert usages() == {
        "content-collector": Usage(90, 180, 50.0, 90),
        "content-processor": Usage(45, 90, 50.0, 45),
        "markdown-generator": Usage(30, 60, 50.0, 30),
        "site-publisher": Usage(90, 180, 50.0, 90),
    }


def test_the_same_work_on_the_lease_that_everybody_used_before_uses_little_of_it() -> None:
    for profile in PROFILES.values():
        assert usage_of(profile.typical, floor=600).utilization_percent <= 15
        assert usage_of(profile.typical, floor=600).safety_margin_seconds >= 500


def test_profiles_of_ones_own_are_taken_and_so_are_the_broker_s_bounds() -> None:
    assert usages({"mine": Profile(1, 60, 90, 120)}) == {"mine": Usage(60, 120, 50.0, 60)}
    assert usage_of(1.0, floor=5.0).lease_seconds == 30.0
    capped = usage_of(50_000, ceiling=43_200)
    assert (capped.lease_seconds, capped.safety_margin_seconds) == (43_200, -6_800)
    assert capped.utilization_percent == pytest.approx(115.74, abs=0.01)
