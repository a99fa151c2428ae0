"""The configuration as typed, immutable data, with a description of each key."""
