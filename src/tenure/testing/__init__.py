"""Testing: what Tenure tests itself with, for everybody.

    virtual       an event loop and a clock in which waiting costs nothing
    plugin        pytest: async tests in virtual time
    harness       what an adapter brings along to be tested
    conformance   the suites that every broker and state must pass
    faulty        brokers and states with one deliberate fault each, which the suites must catch
    workers       real workers on a harness, that come, freeze and die; `wire` is what they say

Nothing here knows an adapter. Only `plugin` needs pytest.
"""
