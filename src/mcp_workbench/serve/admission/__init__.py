"""Who may come in over HTTP, and to what: `Host` and `Origin`, tokens, and access tokens of an issuer.

Owns the answer to one question: who does this request come from, or how is it refused. Serves nothing itself.
"""

from mcp_workbench.serve.admission.credentials import metadata, metadata_paths
from mcp_workbench.serve.admission.doorkeeper import Doorkeeper, load_credentials
from mcp_workbench.serve.admission.gate import Admission

__all__ = ["Admission", "Doorkeeper", "load_credentials", "metadata", "metadata_paths"]
