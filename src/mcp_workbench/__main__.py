"""`python -m mcp_workbench`."""

from mcp_workbench.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
