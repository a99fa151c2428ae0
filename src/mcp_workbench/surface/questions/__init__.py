"""Questions that a server asks in the middle of a call, and how they reach a client of either version."""
