"""One configured server: its lifetime, the protocol version that it speaks, and the calls to it."""
