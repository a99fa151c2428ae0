"""The command that shows what was called: `mcp-workbench log`."""
