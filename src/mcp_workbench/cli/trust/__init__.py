"""Commands by which a person decides what may be used: review, lock and approvals."""
