"""How a command line becomes a command."""
