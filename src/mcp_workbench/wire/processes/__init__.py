"""Child processes and everything that they start: how they are started, watched and ended."""
