"""`hangs.py`: reads everything and never answers anything, until stdin is closed."""

import sys

for _ in sys.stdin.buffer:
    pass
