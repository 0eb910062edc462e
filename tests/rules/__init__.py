"""Tests of the rules that every store shares."""
