"""Prints the configuration that the README begins with: `python -m scripts.readme_config`."""

from __future__ import annotations

import sys

from tests.structure.documents import README, blocks


def main() -> None:
    """Prints the first of the README's configurations."""
    sys.stdout.write(next(block for block in blocks(README, "json") if '"toolboxes"' in block))


if __name__ == "__main__":
    main()
