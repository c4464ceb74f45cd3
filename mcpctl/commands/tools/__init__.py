"""The tools of all servers."""
