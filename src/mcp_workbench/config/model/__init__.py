"""The configuration as typed, immutable structs, with a description of each key."""
