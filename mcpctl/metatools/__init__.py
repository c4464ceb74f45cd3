"""The meta-tools that a client sees, and their answers, as text: nothing is called here."""
