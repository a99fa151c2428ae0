"""Toolboxes, their servers and tools: opening, searching, calling. Without I/O and protocol details."""
