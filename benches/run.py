"""Print how fast and how large rankbound is, each figure beside a reference from the same run (see README.md)."""

import argparse
import os
import sys

import numpy as np
import scipy

import bootstrap
import catalogue
import embeddings
import label_ranking
import list_peers
import lists
import peers
import report_memory
import report_time
import runs
from figures import print_table
from rankbound import __version__, _core

BENCHES = {
    "report": report_time,
    "memory": report_memory,
    "bootstrap": bootstrap,
    "catalogue": catalogue,
    "label_ranking": label_ranking,
    "lists": lists,
    "list_peers": list_peers,
    "embeddings": embeddings,
    "runs": runs,
    "peers": peers,
}
# A slow-down by a factor of two must not land; the noise of a shared machine may.
GATED = ("report", "label_ranking")
GATE_FACTOR = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes without limits: does it still run")
    parser.add_argument(
        "--gate",
        action="store_true",
        help=f"the benches whose ratios are stable ({', '.join(GATED)}), limits {GATE_FACTOR} times as wide, a miss "
        "measured again; exit with 1 if one misses twice",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure misses its limit")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHES]
    if unknown:
        parser.error(f"no bench is called {unknown[0]!r}; there are {', '.join(BENCHES)}")
    n_threads = _core.available_threads()
    print(f"rankbound {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, {n_threads} threads")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5:
        print(f"Other work runs here (load {load:.1f}): ratios of jobs on all cores will be noisy")
    if arguments.gate:
        missed = [_missed_twice(name) for name in arguments.names or GATED]
        return int(any(missed))
    n_missed = 0
    for name in arguments.names or BENCHES:
        n_missed += print_table(BENCHES[name].TITLE, BENCHES[name].figures(quick=arguments.quick))
    return int(arguments.check and n_missed > 0)


def _missed_twice(name: str) -> bool:
    """Measure a bench with wider limits; once more if it misses one, because a machine may stumble."""
    for title in (BENCHES[name].TITLE, "  Missed: the same again"):
        figures = (figure.widened(GATE_FACTOR) for figure in BENCHES[name].gated())
        if not print_table(title, figures):
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
