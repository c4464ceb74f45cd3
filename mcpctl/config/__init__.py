"""The reading of config.toml, checked and masked; nothing in it is expanded before a server starts."""
