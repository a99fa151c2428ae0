"""What `mcp-workbench doctor` looks at: each area is a module with a function that returns its findings.

Nothing is printed here, nothing is written, and no server is started.
"""
