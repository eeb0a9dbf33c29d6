"""Memory that a report takes beside its input, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from figures import Figure
from inputs import random_scores, random_truths, skewed_labels

TITLE = "Memory of the report beside the scores; reference: the scores"
LIMIT_MB = 64
STATUS = Path("/proc/self/status")


def figures(*, quick: bool) -> Iterator[Figure]:
    if not STATUS.exists():
        print("  left out: peak memory is read from /proc, which only Linux has")
        return
    n_rows, n_classes = (2_000, 5_000) if quick else (20_000, 10_000)
    for label, options in (("one objective", ["--one"]), ("three objectives, 1000 resamples", [])):
        command = [sys.executable, __file__, str(n_rows), str(n_classes), *options]
        extra, scores = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
        yield Figure(
            name=f"{n_rows:,} x {n_classes:,}, {label}",
            ours=f"{extra:.0f} MB",
            reference=f"{scores:.0f} MB",
            ratio=extra / scores,
            limit=LIMIT_MB / scores,
        )


def status_mb(field: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def _measure(n_rows: int, n_classes: int, **options: object) -> None:
    from rankbound import build_ranking_report  # noqa: PLC0415  # only the process that is measured loads it

    def report(rows: int) -> object:
        return build_ranking_report(scores[:rows], truths[:rows], y_train=labels, **options)  # type: ignore[arg-type]

    scores, truths, labels = (
        random_scores(n_rows, n_classes),
        random_truths(n_rows, n_classes),
        skewed_labels(n_classes),
    )
    report(10)  # what is loaded once is no memory of a report
    before = status_mb("VmRSS")
    report(n_rows)
    print(status_mb("VmHWM") - before, scores.nbytes / 1e6)


if __name__ == "__main__":
    one = {"eval_all_objectives": False, "n_resamples": 0}
    _measure(int(sys.argv[1]), int(sys.argv[2]), **(one if "--one" in sys.argv else {}))
