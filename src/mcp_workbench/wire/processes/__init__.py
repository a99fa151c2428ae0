"""Child processes: how they are started, watched and ended, with everything that they start themselves."""
