"""The search room."""
