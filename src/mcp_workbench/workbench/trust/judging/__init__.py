"""Judging the tools that a server lists by what was approved of it: what changed, and what is held."""
