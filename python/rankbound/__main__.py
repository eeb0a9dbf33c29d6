"""``python -m rankbound``."""

import sys

from rankbound.cli import main

sys.exit(main())
