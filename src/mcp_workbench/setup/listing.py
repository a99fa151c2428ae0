"""Lists the toolboxes and servers of a configuration file as they are written, mistakes included.

Owns what is shown of an entry: its program or address, with secrets masked. References to variables are shown
as they are written. Starts nothing.
"""

from __future__ import annotations
