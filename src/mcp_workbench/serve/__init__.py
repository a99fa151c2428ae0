"""Composition roots: everything wired together for one way of serving."""
