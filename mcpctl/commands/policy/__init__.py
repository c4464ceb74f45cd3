"""The policy: why a tool may be called or not, and whether its rules say what is meant."""
