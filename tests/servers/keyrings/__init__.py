"""Keyrings for the tests, found by keyring's own variable PYTHON_KEYRING_BACKEND."""
