"""The face to the client: the two meta-tools, in both eras of the protocol."""
