"""One configured server: its lifetime, the era it speaks, and the calls to it."""
