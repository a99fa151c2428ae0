"""Toolboxes and the tools in them: opening, finding, calling. Free of I/O and of protocol."""
