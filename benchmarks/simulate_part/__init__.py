"""The part on the simulator: messages it gets through."""
