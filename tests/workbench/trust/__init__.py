"""Tests of trust in servers: findings, pins and differences."""
