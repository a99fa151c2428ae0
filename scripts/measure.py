"""Makes every Python process of the environment that runs this measure its coverage, from its start on.

Writes a `.pth` file, which Python reads whenever it starts. Children are measured too that get an environment
without any variable of coverage's, as all servers of the workbench do.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Writes the file into the environment."""
    if sys.prefix == sys.base_prefix:
        sys.exit("This would measure all that this Python runs: call it in a virtual environment.")
    places = f"data_file={str(ROOT / '.coverage')!r}, config_file={str(ROOT / 'pyproject.toml')!r}"
    # Python reads the file twice where lib64 is a link to lib.
    begin = f"coverage.Coverage({places}, data_suffix=True, auto_data=True).start()"
    start = f"import coverage; coverage.Coverage.current() or {begin}\n"
    (Path(sysconfig.get_path("purelib")) / "measure.pth").write_text(start, encoding="utf-8")


if __name__ == "__main__":
    main()
