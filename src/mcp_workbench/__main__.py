"""What `mcp-workbench` and `python -m mcp_workbench` run."""

import gc
import sys


def main() -> int:
    """Runs the command line."""
    # Nothing that is made while modules are loaded becomes garbage, and looking for it is 8 % of a start.
    # Serving switches it on again when all is loaded, the other commands do so at once.
    gc.disable()
    from mcp_workbench import cli  # noqa: PLC0415 - not before that

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
