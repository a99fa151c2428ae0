"""Runs the workbench for its clients, over stdio and over HTTP."""
