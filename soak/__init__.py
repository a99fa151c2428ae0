"""The soak: the real command for ten minutes under load and faults, and every answer accounted for."""
