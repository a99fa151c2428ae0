"""Tests of the commands by which a person decides what may be used."""
