"""The tools that exist: their cached definitions, their hints, how a model is shown their parameters."""
