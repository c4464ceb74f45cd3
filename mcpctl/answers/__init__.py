"""An answer that is too big to be passed on: described, and read on in."""
