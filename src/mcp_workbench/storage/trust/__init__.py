"""Files of trust in the data directory: pins, approved texts, held tools, pending approvals, the lock."""
