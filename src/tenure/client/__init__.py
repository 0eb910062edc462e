"""What a program outside the worker does with a place: read all of a list, sum figures up."""
