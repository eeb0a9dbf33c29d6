"""The built-in metrics of lists with any number of relevant items.

Each value is the exact expectation over the orders that equal scores allow (McSherry and Najork 2008). It is NaN for a
list without relevant items, which is left out of means and counted. Relevant items that are no candidates stay in the
denominators.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from rankbound._options import as_choice, as_number
from rankbound.errors import InvalidParameterError
from rankbound.metrics.spec import CoreMetric, MetricSpec

Gain = Literal["binary", "exp2", "linear"]


def _as_patience(value: Any) -> float:
    patience = as_number(value, name="patience")
    if not 0 < patience < 1:
        raise InvalidParameterError(f"patience must lie strictly between 0 and 1, got {value!r}")
    return patience


@dataclass(frozen=True, slots=True, repr=False)
class HitRate(MetricSpec):
    """Whether a relevant item is in the top k, from 0 to 1, higher is better; also known as success.

    Parameters
    ----------
    cutoffs : int or sequence of int
        Cut-offs.

    Examples
    --------
    >>> from rankbound.metrics import HitRate
    >>> HitRate([10, 20]).result_keys
    ('hit_rate@10', 'hit_rate@20')
    """

    family: ClassVar[str] = "hit_rate"
    needs_cut_off: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class Precision(MetricSpec):
    """Relevant items in the top k divided by k, whatever the length of the list; from 0 to 1, higher is better.

    Parameters
    ----------
    cutoffs : int or sequence of int
        Cut-offs.
    """

    family: ClassVar[str] = "precision"
    needs_cut_off: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class Recall(MetricSpec):
    """Relevant items in the top k divided by all relevant items; from 0 to 1, higher is better.

    Parameters
    ----------
    cutoffs : int or sequence of int
        Cut-offs.
    """

    family: ClassVar[str] = "recall"
    needs_cut_off: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class CalibratedRecall(MetricSpec):
    """Relevant items in the top k divided by the smaller of k and all relevant items; from 0 to 1, higher is better.

    Parameters
    ----------
    cutoffs : int or sequence of int
        Cut-offs.
    """

    family: ClassVar[str] = "calibrated_recall"
    needs_cut_off: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class F1(MetricSpec):
    """Harmonic mean of precision and recall at k: hits divided by the mean of k and all relevant items.

    From 0 to 1, higher is better; 0 without hits.

    Parameters
    ----------
    cutoffs : int or sequence of int
        Cut-offs.
    """

    family: ClassVar[str] = "f1"
    needs_cut_off: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class RPrecision(MetricSpec):
    """Precision at as many items as are relevant; from 0 to 1, higher is better. It takes no cut-off.

    Ranked lists must have as many places as any row has relevant items, or hold the whole catalogue.
    """

    family: ClassVar[str] = "r_precision"

    def __post_init__(self) -> None:
        """Refuse a cut-off."""
        if self.cutoffs is not None:
            raise InvalidParameterError(
                f"RPrecision takes no cut-off, got {self.cutoffs!r}: each list is cut at its number of relevant items"
            )


@dataclass(frozen=True, slots=True, repr=False)
class MRR(MetricSpec):
    """Reciprocal rank of the first relevant item, 0 beyond the cut-off; from 0 to 1, higher is better (Voorhees 1999).

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    """

    family: ClassVar[str] = "mrr"


@dataclass(frozen=True, slots=True, repr=False)
class MAP(MetricSpec):
    """Average precision: the sum of the precisions at the relevant items of the top k, divided.

    From 0 to 1, higher is better.

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    denominator : {"min_k_relevant", "relevant"}, default "min_k_relevant"
        Divide by the smaller of k and all relevant items, so that 1 can be reached (``map@10``), or by all relevant
        items, as trec_eval does (``map_relevant@10``).

    Examples
    --------
    >>> from rankbound.metrics import MAP
    >>> MAP(10, denominator="relevant").result_keys
    ('map_relevant@10',)
    """

    _: KW_ONLY
    denominator: Literal["min_k_relevant", "relevant"] = "min_k_relevant"

    family: ClassVar[str] = "map"

    def __post_init__(self) -> None:
        """Check the denominator too."""
        MetricSpec.__post_init__(self)
        choices = ("min_k_relevant", "relevant")
        object.__setattr__(self, "denominator", as_choice(self.denominator, choices, name="denominator"))

    @property
    def name(self) -> str:
        """``map`` or ``map_relevant``."""
        return "map" if self.denominator == "min_k_relevant" else "map_relevant"

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(key, self.name, k)


@dataclass(frozen=True, slots=True, repr=False)
class _Discounted(MetricSpec):
    _: KW_ONLY
    gain: Gain = "binary"
    discount: Literal["log2", "jk2002"] = "log2"

    def __post_init__(self) -> None:
        MetricSpec.__post_init__(self)
        object.__setattr__(self, "gain", as_choice(self.gain, ("binary", "exp2", "linear"), name="gain"))
        object.__setattr__(self, "discount", as_choice(self.discount, ("log2", "jk2002"), name="discount"))

    @property
    def name(self) -> str:
        """The family, with the gain and the discount where they are not the default."""
        gain = "" if self.gain == "binary" else f"_{self.gain}"
        return self.family + gain + ("" if self.discount == "log2" else f"_{self.discount}")

    @property
    def is_graded(self) -> bool:
        """Whether the gain is not binary."""
        return self.gain != "binary"

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(key, self.family, k, self.gain, self.discount)


@dataclass(frozen=True, slots=True, repr=False)
class DCG(_Discounted):
    """Discounted cumulative gain; from 0 up, higher is better (Järvelin and Kekäläinen 2002).

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    gain : {"binary", "exp2", "linear"}, default "binary"
        1 per relevant item, ``2**grade - 1`` (Burges et al. 2005), or the grade; gains above 2^40 are refused.
    discount : {"log2", "jk2002"}, default "log2"
        ``1 / log2(1 + rank)``, or the form of 2002, ``1 / max(1, log2(rank))``, flat on the first two ranks.
    """

    family: ClassVar[str] = "dcg"


@dataclass(frozen=True, slots=True, repr=False)
class NDCG(_Discounted):
    """Discounted cumulative gain divided by its ideal; from 0 to 1, higher is better (Järvelin and Kekäläinen 2002).

    The ideal list holds the best k of all relevant items, whether the evaluated list has them or not.

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    gain : {"binary", "exp2", "linear"}, default "binary"
        1 per relevant item, ``2**grade - 1`` (Burges et al. 2005), or the grade; gains above 2^40 are refused.
    discount : {"log2", "jk2002"}, default "log2"
        ``1 / log2(1 + rank)``, or the form of 2002, ``1 / max(1, log2(rank))``, flat on the first two ranks.

    Examples
    --------
    >>> from rankbound.metrics import NDCG
    >>> NDCG([10, 20], gain="exp2").result_keys
    ('ndcg_exp2@10', 'ndcg_exp2@20')
    >>> str(NDCG(10))
    'ndcg@10'
    """

    family: ClassVar[str] = "ndcg"


@dataclass(frozen=True, slots=True, repr=False)
class RBP(MetricSpec):
    """Rank-biased precision, ``(1 - p) * sum(p**(rank - 1))`` over relevant items (Moffat and Zobel 2008).

    From 0 to 1, higher is better; with R relevant items it is at most ``1 - p**R``.

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    patience : float, default 0.85
        Probability p of going on to the next item, strictly between 0 and 1. It is part of the label, not of the key.
    gain : {"binary", "linear"}, default "binary"
        1 per relevant item, or the grade, which must then be at most 1.
    """

    _: KW_ONLY
    patience: float = 0.85
    gain: Literal["binary", "linear"] = "binary"

    family: ClassVar[str] = "rbp"

    def __post_init__(self) -> None:
        """Check the patience and the gain too."""
        MetricSpec.__post_init__(self)
        object.__setattr__(self, "patience", _as_patience(self.patience))
        object.__setattr__(self, "gain", as_choice(self.gain, ("binary", "linear"), name="gain"))

    @property
    def name(self) -> str:
        """``rbp`` or ``rbp_linear``."""
        return "rbp" if self.gain == "binary" else "rbp_linear"

    @property
    def options(self) -> dict[str, float]:
        """The patience, if it is not the default."""
        return {} if self.patience == 0.85 else {"patience": self.patience}

    @property
    def is_graded(self) -> bool:
        """Whether the gain is not binary."""
        return self.gain != "binary"

    @property
    def parameters(self) -> dict[str, float]:
        """The patience."""
        return {"patience": self.patience}

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(key, self.family, k, self.gain, parameter=self.patience)


@dataclass(frozen=True, slots=True, repr=False)
class ERR(MetricSpec):
    """Expected reciprocal rank of a user who stops at the first satisfying item (Chapelle et al. 2009).

    An item of grade g satisfies with probability ``(2**g - 1) / 2**max_grade``. From 0 to 1, higher is better. A tie
    group takes as many steps as it has places in the top k, times its relevant items; give a cut-off where groups are
    huge.

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    max_grade : float
        The largest grade there can be, above 0 and at most 40: a constant of the protocol, never taken from the data. A
        larger grade is refused. It is part of the label, not of the key.
    """

    _: KW_ONLY
    max_grade: float

    family: ClassVar[str] = "err"

    def __post_init__(self) -> None:
        """Check the largest grade too."""
        MetricSpec.__post_init__(self)
        grade = as_number(self.max_grade, name="max_grade")
        if not 0 < grade <= 40:
            raise InvalidParameterError(f"max_grade must be above 0 and at most 40, got {self.max_grade!r}")
        object.__setattr__(self, "max_grade", grade)

    @property
    def options(self) -> dict[str, float]:
        """The largest grade."""
        return {"max_grade": self.max_grade}

    @property
    def is_graded(self) -> bool:
        """Always."""
        return True

    @property
    def parameters(self) -> dict[str, float]:
        """The largest grade."""
        return {"max_grade": self.max_grade}

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(key, self.family, k, parameter=self.max_grade)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class LogRBP(MetricSpec):
    """Natural logarithm of the expected rank-biased precision of each list, for lists so long that it underflows.

    From minus infinity to 0, higher is better. Minus infinity for a list without a relevant item in its top n; it is
    kept. The aggregates are ``LogRBP.logmean``, the logarithm of the mean of the exponentials, and ``LogRBP.n``.

    Parameters
    ----------
    n : int, sequence of int, or None, default None
        Cut-offs; None takes the whole list.
    k : int, sequence of int, or None, default None
        Deprecated name of ``n``.
    patience : float, default 0.85
        Probability of going on to the next item, strictly between 0 and 1.

    Examples
    --------
    >>> from rankbound.metrics import LogRBP
    >>> LogRBP().result_keys
    ('LogRBP.logmean',)
    """

    _: KW_ONLY
    patience: float = 0.85

    family: ClassVar[str] = "log_rbp"

    def __init__(self, n: Any = None, *, k: Any = None, patience: float = 0.85) -> None:
        if k is not None:
            if n is not None:
                raise InvalidParameterError(f"LogRBP got n={n!r} and k={k!r}, its deprecated name; give n alone")
            warnings.warn("LogRBP(k=...) is deprecated: write n", DeprecationWarning, stacklevel=2)
            n = k
        object.__setattr__(self, "cutoffs", n)
        MetricSpec.__post_init__(self)
        object.__setattr__(self, "patience", _as_patience(patience))

    @property
    def n(self) -> int | None:
        """The cut-off, the deepest of several; None for the whole list."""
        return self.required_k

    @property
    def name(self) -> str:
        """``LogRBP``."""
        return "LogRBP"

    @property
    def options(self) -> dict[str, float]:
        """The patience, if it is not the default."""
        return {} if self.patience == 0.85 else {"patience": self.patience}

    @property
    def parameters(self) -> dict[str, float]:
        """The patience."""
        return {"patience": self.patience}

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(f"{key}.logmean", self.family, k, parameter=self.patience)
