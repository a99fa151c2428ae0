"""Limits on the calls to one server: how many wait, whose turn is next, and when reading pauses."""
