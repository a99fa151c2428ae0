"""The demo's servers, one module each, run as `python -m mcp_workbench.demo.servers.<name>`."""

__all__: list[str] = []
