"""Who may connect over HTTP, and to which toolboxes: `Host`, `Origin`, tokens of a file, access tokens.

Owns one decision: which principal a request comes from, or how it is refused. Serves no request itself.
"""

from mcp_workbench.serve.admission.admission import Admission
from mcp_workbench.serve.admission.credentials import metadata, metadata_paths
from mcp_workbench.serve.admission.files import AdmissionFiles, load_credentials

__all__ = ["Admission", "AdmissionFiles", "load_credentials", "metadata", "metadata_paths"]
