"""The entry point of `mcp-workbench` and `python -m mcp_workbench`."""

import gc
import sys


def main() -> int:
    """Run the command line, and return its exit code."""
    # Loading modules creates no garbage, and collecting it would take 8 % of a start. Serving switches the
    # collector on again when all is loaded, the other commands do so at once.
    gc.disable()
    from mcp_workbench import cli  # noqa: PLC0415 - not before that

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
