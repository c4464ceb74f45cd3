"""The resources of all servers."""
