"""What config.toml says: read, checked, masked; nothing of it is expanded before a server starts."""
