"""The registry of servers: asking it, reading what it says of a server, and making an entry of that."""
