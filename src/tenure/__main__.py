"""`python -m tenure`: the command by another name."""

from tenure.cli import main

main()
