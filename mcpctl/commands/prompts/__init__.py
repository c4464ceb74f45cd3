"""The prompts of all servers."""
