"""`mcp-workbench doctor`: prints what `setup.diagnosis` finds."""
