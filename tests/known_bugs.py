"""Failing tests of known bugs in the core, which pytest does not collect: run ``pytest tests/known_bugs.py``.

Move a test to its module when its bug is fixed.
"""

import numpy as np
import pytest

from rankbound import _core


class StopItError(Exception):
    pass


# A bootstrap calls `Par::run` once per batch of 2^21 draws, some 10 ms of work, and `Par::run` ticks only after waiting
# 50 ms: in a run of many short batches neither progress nor Ctrl-C is ever looked at. Belongs to test_process.py: add
# `ranking_uncertainty({"m": np.arange(100_000.0)}, n_resamples=10**6)` to LONG.
def test_a_bootstrap_of_many_batches_looks_up():
    def stop(_done, _total):
        raise StopItError

    words = np.random.SeedSequence(0).generate_state(4, np.uint64)
    with pytest.raises(StopItError):
        _core.bootstrap_limits(
            words,
            [np.arange(100_000.0)],
            None,
            [],
            n_resamples=10_000,
            confidence_level=0.95,
            num_threads=1,
            progress=stop,
        )
