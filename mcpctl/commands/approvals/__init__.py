"""Calls that wait for your yes, and what you allowed."""
