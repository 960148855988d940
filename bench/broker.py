"""The one command that measures the broker.

.venv/bin/python bench/broker.py [--quick] [--rows TEXT ...] [--ramp] [--json F] [--plot F]
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a script, Python looks for modules beside this file, where `broker` is this file.
    sys.path[0] = str(Path(__file__).parent.parent)
    from bench.command import main

    main()
