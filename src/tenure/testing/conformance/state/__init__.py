"""The contract of the five state ports, journal and board in two files, and of the store's wall time."""

from tenure.testing.conformance.state.board import Board
from tenure.testing.conformance.state.journal import Journal
from tenure.testing.conformance.state.ledger import Ledger
from tenure.testing.conformance.state.records import Records
from tenure.testing.conformance.state.roster import Roster
from tenure.testing.conformance.state.samples import Samples
from tenure.testing.conformance.state.turns import Turns
from tenure.testing.conformance.state.wall import WallTime

__all__ = ["Board", "Journal", "Ledger", "Records", "Roster", "Samples", "Turns", "WallTime"]
