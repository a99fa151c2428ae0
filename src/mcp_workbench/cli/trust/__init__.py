"""Commands by which a person decides what may be used: scan, review, lock and approvals."""
