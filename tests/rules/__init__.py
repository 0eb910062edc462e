"""Tests of the decisions that every store shares."""
