"""The policy: what may be called, and why."""
