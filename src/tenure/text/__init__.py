"""Sentences for people: counts in words, shortened tracebacks, what to do about an error."""
