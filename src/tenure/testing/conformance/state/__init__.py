"""The contract of the five state ports, one file each."""

from tenure.testing.conformance.state.board import Board
from tenure.testing.conformance.state.journal import Journal
from tenure.testing.conformance.state.ledger import Ledger
from tenure.testing.conformance.state.records import Records
from tenure.testing.conformance.state.roster import Roster

__all__ = ["Board", "Journal", "Ledger", "Records", "Roster"]
