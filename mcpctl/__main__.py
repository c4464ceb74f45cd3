"""`python -m mcpctl`"""

import sys

from mcpctl.main import main

sys.exit(main())
