"""Tests of access tokens: got, kept, renewed, and put on every request."""
