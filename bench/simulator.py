"""The one command that measures the simulator.

.venv/bin/python bench/simulator.py [--seconds N] [--rounds N] [--seed N] [--json F]
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a script, Python looks for modules beside this file, where `broker` is a bench.
    sys.path[0] = str(Path(__file__).parent.parent)
    from bench.simulated_command import main

    raise SystemExit(main())
