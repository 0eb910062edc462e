"""The rules that every store shares, by tables of cases."""
