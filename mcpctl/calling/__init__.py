"""The gateway for one command at a time, without a client."""
