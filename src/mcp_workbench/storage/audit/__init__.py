"""The audit on disk: what is recorded of each call, and the files that the records are in."""
