"""Kept results as a client sees them: their previews, and how they are read, searched and passed on."""
