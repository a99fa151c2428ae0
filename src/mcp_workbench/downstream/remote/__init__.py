"""Servers that are reached over HTTP: Streamable HTTP in both eras, and the HTTP+SSE of before.

Only `http` and what it loads need a library for HTTP; `loading` gets it without holding anybody up.
"""
