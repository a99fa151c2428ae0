"""The configuration file: its keys, how it is read and checked, and its JSON Schema.

Owns everything between a path and a `LoadedConfig`. Starts nothing and connects to nothing.
"""

from mcp_workbench.config.load import LoadedConfig, load, load_data, load_usable
from mcp_workbench.config.masking.secrets import Secrets
from mcp_workbench.config.model.access import HttpConfig, IssuerConfig
from mcp_workbench.config.model.oauth import OAuthConfig
from mcp_workbench.config.model.results import InlineConfig, ResultsConfig
from mcp_workbench.config.model.shares import SharesConfig
from mcp_workbench.config.model.workbench import (
    Origin,
    ServerConfig,
    ToolboxConfig,
    WorkbenchConfig,
    is_same_program,
)
from mcp_workbench.config.places import locate
from mcp_workbench.config.source.reading import Stamp, stamp_of

__all__ = [
    "HttpConfig",
    "InlineConfig",
    "IssuerConfig",
    "LoadedConfig",
    "OAuthConfig",
    "Origin",
    "ResultsConfig",
    "Secrets",
    "ServerConfig",
    "SharesConfig",
    "Stamp",
    "ToolboxConfig",
    "WorkbenchConfig",
    "is_same_program",
    "load",
    "load_data",
    "load_usable",
    "locate",
    "stamp_of",
]
