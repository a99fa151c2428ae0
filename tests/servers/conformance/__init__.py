"""The server that the official conformance suite expects, with its tools, resources and prompts.

Written with the official Python SDK, it serves either era, as its client opens. It is what stands behind the
workbench when the suite judges it: whatever the suite asks for comes from here, through the workbench.
"""
