"""JSON-RPC over newline-delimited bytes, pipes and child processes. Knows nothing of MCP."""
