"""One MCP conversation with a server: version negotiation, requests, notifications and questions."""
