"""`mcpctl doctor`: the problems of an installation, with a stable code and a fix for each."""
