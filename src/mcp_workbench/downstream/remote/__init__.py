"""Remote servers: Streamable HTTP for legacy and modern servers, and the deprecated HTTP+SSE transport.

Only `client` and `downstream.oauth` need an HTTP library. `loading` loads it in a thread.
"""
