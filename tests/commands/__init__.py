"""The commands room."""
