"""Requests that a server answers for a client, rendered in the client's protocol version."""
