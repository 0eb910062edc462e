"""`tenure audit` on much code."""
