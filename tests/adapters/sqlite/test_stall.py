"""Spans in which the file could not be written are remembered, and nobody is blamed for them."""

from tenure.adapters.sqlite.stall import Stalls

SECOND = 1_000_000


def test_a_short_wait_is_no_stall() -> None:
    stalls = Stalls()
    stalls.begin(0)
    stalls.end(150_000)
    assert stalls.until(SECOND) == ()


def test_a_stall_is_known_while_it_lasts_and_afterwards() -> None:
    stalls = Stalls()
    stalls.begin(1 * SECOND)
    stalls.begin(2 * SECOND)  # it goes on: the first try counts
    assert stalls.until(3 * SECOND) == ((1 * SECOND, 3 * SECOND),)
    stalls.end(3 * SECOND)
    assert stalls.until(9 * SECOND) == ((1 * SECOND, 3 * SECOND),)


def test_a_transaction_of_our_own_that_took_long_is_one() -> None:
    stalls = Stalls()
    stalls.begin(5 * SECOND)
    stalls.end(6 * SECOND)
    assert stalls.until(7 * SECOND) == ((5 * SECOND, 6 * SECOND),)


def test_only_the_latest_are_kept() -> None:
    stalls = Stalls()
    for number in range(100):
        stalls.begin(number * SECOND)
        stalls.end(number * SECOND + SECOND // 2)
    assert len(stalls.until(200 * SECOND)) == 16
    assert stalls.until(200 * SECOND)[-1] == (99 * SECOND, 99 * SECOND + SECOND // 2)
