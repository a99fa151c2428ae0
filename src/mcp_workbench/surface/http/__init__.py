"""The client side over HTTP: Streamable HTTP for legacy and modern clients on one endpoint."""
