"""What a bench yields: a quantity of ours beside a reference taken in the same run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

N_PAIRS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table; `limit` bounds `ratio` from above, None is for information."""

    name: str
    ours: str
    reference: str
    ratio: float
    limit: float | None = None

    def widened(self, factor: float) -> "Figure":
        """Return the figure with a limit that many times as wide; a limit of 0 stays."""
        return replace(self, limit=None if self.limit is None else self.limit * factor)

    @property
    def missed(self) -> bool:
        return self.limit is not None and not self.ratio <= self.limit


def timed(
    name: str,
    ours: Callable[[], object],
    reference: Callable[[], object],
    *,
    limit: float | None = None,
    n_pairs: int = N_PAIRS,
) -> Figure:
    """Time two jobs in alternation, so that a busy machine slows both down.

    The ratio is the median of the pairs' ratios; the seconds are medians of their own.
    """
    jobs = (ours, reference)
    for job in jobs:
        job()
    pairs = []
    for index in range(n_pairs):
        seconds = [0.0, 0.0]
        for which in (0, 1) if index % 2 else (1, 0):
            start = perf_counter()
            jobs[which]()
            seconds[which] = perf_counter() - start
        pairs.append(seconds)
    return Figure(
        name=name,
        ours=f"{median(own for own, _ in pairs):.4f} s",
        reference=f"{median(other for _, other in pairs):.4f} s",
        ratio=median(own / other for own, other in pairs),
        limit=limit,
    )


def print_table(title: str, figures: Iterable[Figure]) -> int:
    """Print figures as they come and return how many missed their limit."""
    print(f"\n{title}")
    print(f"  {'':<52}{'ours':>12}{'reference':>12}{'ratio':>9}{'limit':>9}")
    n_missed = 0
    for figure in figures:
        verdict = "" if figure.limit is None else "MISSED" if figure.missed else "ok"
        limit = "" if figure.limit is None else times(figure.limit)
        line = f"{figure.name:<52}{figure.ours:>12}{figure.reference:>12}{times(figure.ratio):>9}{limit:>9}  {verdict}"
        print(f"  {line.rstrip()}", flush=True)
        n_missed += figure.missed
    return n_missed


def times(ratio: float) -> str:
    """Write 2 as `2.00 x` and 0.02 as `1/50`."""
    if ratio == 0:
        return "0"
    return f"{ratio:.2f} x" if ratio >= 0.3 else f"1/{1 / ratio:.0f}"
