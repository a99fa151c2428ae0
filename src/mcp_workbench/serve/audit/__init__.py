"""The audit of calls while the workbench runs: what is recorded of each call, and the thread that writes."""
