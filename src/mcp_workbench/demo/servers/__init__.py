"""The servers of the demo, a module each, run as `python -m mcp_workbench.demo.servers.<name>`."""

__all__: list[str] = []
