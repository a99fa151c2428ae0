"""The face to clients that come over HTTP: Streamable HTTP of both eras on one endpoint."""
