"""Who may come in over HTTP, and to what: `Host` and `Origin`, tokens, and access tokens of an issuer.

Owns the answer to one question: who does this request come from, or how is it refused. Serves nothing itself.
"""

from mcp_workbench.serve.admission.admission import Admission
from mcp_workbench.serve.admission.credentials import metadata, metadata_paths
from mcp_workbench.serve.admission.files import AdmissionFiles, load_credentials

__all__ = ["Admission", "AdmissionFiles", "load_credentials", "metadata", "metadata_paths"]
