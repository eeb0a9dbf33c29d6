"""The library as a guest in a process: imports, forks, threads, signals."""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankbound import build_ranking_report, fit_comparability, ranking_uncertainty, transform_for_objective

HEAVY = ("scipy.stats", "pandas", "polars", "pyarrow", "sklearn", "matplotlib", "tqdm", "jinja2")
PROBLEM = """
import numpy as np
from rankbound import build_ranking_report
scores = np.random.default_rng(0).random((3000, 50), dtype=np.float32)
truths = np.arange(3000) % 50
def work():
    return build_ranking_report(scores, truths, y_train=truths, n_resamples=50, num_threads=3).to_json()
"""


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options).stdout


def test_import_is_light(record_property):
    code = f"""
import sys, time
start = time.perf_counter()
import rankbound
seconds = time.perf_counter() - start
import json
print(json.dumps([seconds, [name for name in {(*HEAVY, "scipy", "narwhals", "msgspec")} if name in sys.modules]]))
"""
    seconds, loaded = json.loads(python(code))
    # The promise is 0.3 s, which a busy machine may miss.
    record_property("import_seconds", seconds)
    assert loaded == []


def test_a_report_is_light():
    code = PROBLEM + f"import sys; work(); print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code).strip() == "[]"


@pytest.mark.parametrize("module", ["sampled", "counterfactual"])
def test_modules_are_light(module):
    code = f"import sys, rankbound.{module}; print([name for name in {(*HEAVY, 'scipy')} if name in sys.modules])"
    assert python(code).strip() == "[]"


def test_drop_ins_load_none_of_their_namesakes():
    peers = ["sklearn", "pytrec_eval", "ranx", "lightgbm", "xgboost", "catboost"]
    imports = "".join(f"import rankbound.compat.{peer}\n" for peer in peers)
    code = imports + f"import sys; print([name for name in {(*HEAVY, *peers)} if name in sys.modules])"
    assert python(code).strip() == "[]"


def test_names_load_when_used():
    code = """
import rankbound, sys
assert "rankbound.report" not in sys.modules
assert set(rankbound.__all__) == set(dir(rankbound))
for name in rankbound.__all__:
    getattr(rankbound, name)
print(rankbound.__version__)
"""
    assert python(code).count(".") == 2
    import rankbound

    with pytest.raises(AttributeError, match="module 'rankbound' has no attribute 'nothing'"):
        _ = rankbound.nothing


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_report_survives_fork():
    code = (
        PROBLEM
        + """
import multiprocessing
def child(pipe):
    pipe.send(work())
context = multiprocessing.get_context("fork")
before = work()
ours, theirs = context.Pipe()
process = context.Process(target=child, args=(theirs,))
process.start()
assert ours.poll(100), "the child hangs"
assert ours.recv() == before
process.join(100)
assert process.exitcode == 0
with context.Pool(2) as pool:
    assert {pool.apply(work) for _ in range(3)} == {before}
assert work() == before
print("done")
"""
    )
    assert python(code, timeout=200).strip() == "done"


def test_threads_of_the_caller():
    rng = np.random.default_rng(0)
    scores, truths = rng.integers(0, 9, (2000, 40)), rng.integers(0, 40, 2000)

    def work(num_threads):
        return build_ranking_report(scores, truths, n_resamples=20, num_threads=num_threads).to_json()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(work, [1, 2, 3, None] * 3))) == 1


def test_other_threads_go_on():
    scores = np.broadcast_to(np.random.default_rng(0).random(1000), (100_000, 1000))
    options = {"n_resamples": 0, "num_threads": 1, "eval_all_objectives": False}
    worker = threading.Thread(target=build_ranking_report, args=(scores, np.zeros(100_000, int)), kwargs=options)
    turns = 0
    worker.start()
    while worker.is_alive():
        worker.join(0.001)
        turns += 1
    assert turns > 3


class AlarmError(Exception):
    pass


@pytest.fixture
def alarm():
    """Run something during which a signal handler raises AlarmError, as Ctrl-C raises KeyboardInterrupt."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs timers")

    def ring(_number, _frame):
        raise AlarmError

    def during(run):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        run()

    before = signal.signal(signal.SIGALRM, ring)
    yield during
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# Each would run for minutes.
MANY = np.broadcast_to(np.random.default_rng(0).random(20_000), (1_000_000, 20_000))
LONG = {
    "scan": lambda: build_ranking_report(MANY, np.zeros(len(MANY), int), n_resamples=0),
    "knots": lambda: fit_comparability(np.zeros(len(MANY), int), MANY, percentile=True),
    "bootstrap": lambda: ranking_uncertainty({"m": np.arange(100_000.0)}, n_resamples=10**6),
}


@pytest.mark.parametrize("name", LONG)
def test_signals_end_a_run(alarm, name):
    with pytest.raises(AlarmError):
        alarm(LONG[name])
    # Nothing is left behind.
    assert transform_for_objective(MANY[:2, :3], state=None).shape == (2, 3)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGINT")
def test_control_c_ends_a_report():
    code = """
import numpy as np
from rankbound import build_ranking_report
scores = np.broadcast_to(np.random.default_rng(0).random(20_000), (1_000_000, 20_000))
told = []
def progress(done, total):
    told.append(done) or len(told) > 1 or print("running", flush=True)
try:
    build_ranking_report(scores, np.zeros(1_000_000, int), progress=progress)
except KeyboardInterrupt:
    print("interrupted", told[-1] < 1_000_000)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=100)
    assert output == "interrupted True\n"
    assert process.returncode == 0
