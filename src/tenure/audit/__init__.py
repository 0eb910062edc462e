"""Audit: reads Python source and finds where messages can be lost, run twice or held without being worked on.

Nothing is executed or imported: all of it comes from the syntax tree. What cannot be known from there is not reported
as wrong; a file that cannot be read is reported as not audited.

    source → module → clients, queue calls, traces → rules → findings, less what comments ignore → report

`auditing.py` puts these together; `catalogue.py` has the rules in words, `rules/` one file for each family of them.
Shown by `tenure audit`, as a table, JSON or SARIF.
"""

from tenure.audit.auditing import audit, audit_source
from tenure.audit.catalogue import RULES
from tenure.audit.report import Located, Operation, Report
from tenure.audit.rule import Rule

__all__ = ["RULES", "Located", "Operation", "Report", "Rule", "audit", "audit_source"]
