"""Tests of `mcpctl db`."""
