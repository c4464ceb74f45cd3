"""The proxy room."""
