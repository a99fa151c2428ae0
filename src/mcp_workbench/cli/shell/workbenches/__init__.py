"""The workbench that `tools` and `call` talk to: one in their own process, or one that serves over HTTP."""
