"""Calls and searches on record."""
