"""`mcpctl doctor`: what is wrong with an installation, with a stable code and a fix for each."""
