"""The conformance suites at work: on each adapter, and on brokers that are broken on purpose."""
