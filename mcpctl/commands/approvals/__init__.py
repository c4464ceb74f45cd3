"""Calls that wait for your consent, and the consent that you have given."""
