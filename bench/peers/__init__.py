"""Other programs that put one MCP server in front of many, set up as their documentation advises."""
