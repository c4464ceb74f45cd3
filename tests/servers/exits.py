"""`exits.py`: says why on stderr, and exits at once."""

import sys

print("cannot find my configuration", file=sys.stderr)
sys.exit(7)
