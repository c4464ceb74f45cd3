"""Ranking tools for a query: by words, by meaning, or by a service."""
