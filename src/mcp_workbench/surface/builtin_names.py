"""The names under which kept results are read: a toolbox of our own, its one server, and the tools there."""

from typing import Final

TOOLBOX: Final = "workbench"
SERVER: Final = "results"
READ_RESULT: Final = "read_result"
SEARCH_RESULT: Final = "search_result"
