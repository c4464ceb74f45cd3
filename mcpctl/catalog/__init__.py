"""The tools that exist: their cached definitions, their hints, and their parameters as models read them."""
