"""Kept results as a client sees them: what is shown of them, and how they are read and passed on."""
