"""Suspicious tool definitions, found by fixed rules: offline, the same at every run, in time linear in the text."""
