"""Tests of what is kept of trust: pins, held tools and the lock."""
