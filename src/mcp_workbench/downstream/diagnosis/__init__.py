"""Why a server did not start or a call failed, as a code and in words, and what to do about it."""

from mcp_workbench.downstream.diagnosis.causes import CAUSES

__all__ = ["CAUSES"]
