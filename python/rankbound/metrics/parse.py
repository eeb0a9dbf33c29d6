"""From labels to metrics."""

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches

from rankbound.errors import InvalidParameterError
from rankbound.metrics import families
from rankbound.metrics.spec import MetricSpec

_LABEL = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*)(?:@(?P<cutoffs>[0-9]{1,10}(?:,[0-9]{1,10})*))?(?:\[(?P<options>[^\]]*)\])?"
    r"(?P<log_mean>\.logmean)?",
    re.IGNORECASE | re.ASCII,
)

Maker = Callable[..., MetricSpec]


def _registry() -> dict[str, Maker]:
    plain: dict[str, Maker] = {
        cls.family: cls
        for cls in (
            families.HitRate,
            families.Precision,
            families.Recall,
            families.CalibratedRecall,
            families.F1,
            families.RPrecision,
            families.MRR,
            families.MAP,
            families.RBP,
            families.ERR,
        )
    }
    plain["map_relevant"] = lambda cutoffs=None: families.MAP(cutoffs, denominator="relevant")
    plain["rbp_linear"] = lambda cutoffs=None, **options: families.RBP(cutoffs, gain="linear", **options)
    plain["LogRBP"] = lambda cutoffs=None, **options: families.LogRBP(cutoffs, **options)
    for cls in (families.DCG, families.NDCG):
        for gain in ("binary", "exp2", "linear"):
            for discount in ("log2", "jk2002"):
                spec = cls(gain=gain, discount=discount)
                plain[spec.name] = _discounted(cls, gain, discount)
    return plain


def _discounted(cls: Maker, gain: str, discount: str) -> Maker:
    return lambda cutoffs=None: cls(cutoffs, gain=gain, discount=discount)


REGISTRY: dict[str, Maker] = _registry()
"""Every built-in metric by the name that begins its label: called with cut-offs it makes the metric."""

_BY_LOWER_CASE = {name.lower(): name for name in REGISTRY}


# Parameters that a label may hold in brackets.
_LABEL_OPTIONS = {"rbp": "patience", "rbp_linear": "patience", "LogRBP": "patience", "err": "max_grade"}


def parse(label: str) -> MetricSpec:
    """Return the metric that a label names.

    Parameters
    ----------
    label : str
        A name, cut-offs after ``@`` and options in brackets, such as ``"ndcg_exp2@10"``, ``"recall@5,10"`` or
        ``"rbp@20[patience=0.8]"``. Upper and lower case are the same.

    Returns
    -------
    MetricSpec
        The metric whose ``label`` is this one, up to case and the order of the cut-offs.

    Raises
    ------
    InvalidParameterError
        If no metric has that label.

    Examples
    --------
    >>> from rankbound.metrics import parse
    >>> parse("ndcg_exp2@10")
    NDCG(10, gain='exp2')
    """
    return parse_among(label)


def parse_among(label: str, others: Collection[str] = ()) -> MetricSpec:
    """Do what :func:`parse` does where metrics of other names can be asked for too.

    Parameters
    ----------
    label : str
        As for :func:`parse`.
    others : collection of str
        The other names, which may have been meant.

    Returns
    -------
    MetricSpec
        The metric.

    Raises
    ------
    InvalidParameterError
        If none of this module has that label.
    """
    found = _LABEL.fullmatch(label.strip()) if isinstance(label, str) else None
    name = _BY_LOWER_CASE.get(found["name"].lower()) if found else None
    if found is None or name is None or (found["log_mean"] and name != "LogRBP"):
        meant = _meant(label, others) if isinstance(label, str) else None
        hint = f"did you mean {meant!r}? A" if meant else "a"
        names = ", ".join([*REGISTRY, *others])
        raise InvalidParameterError(
            f"{label!r} names no metric; {hint} label looks like 'ndcg@10', with one of the names {names}"
        )
    cutoffs = tuple(map(int, found["cutoffs"].split(","))) if found["cutoffs"] else None
    options, known = _options(found["options"], label), _LABEL_OPTIONS.get(name)
    odd = next((option for option in options if option != known), None)
    if odd is not None:
        hint = f"it takes other options: [{known}=...]" if known else "it takes no options"
        raise InvalidParameterError(f"{label!r} has the option {odd!r}, which does not fit {name}: {hint}")
    if name == "err" and not options:
        raise InvalidParameterError(f"{label!r} does not fit err: it needs [max_grade=...]")
    return REGISTRY[name](cutoffs, **options)


# Names in other libraries, without the marks between words.
_ALIASES = {
    **dict.fromkeys(("hit", "hits", "hr", "success", "hitratio"), "hit_rate"),
    **dict.fromkeys(("p", "prec"), "precision"),
    **dict.fromkeys(("r", "rec", "sensitivity"), "recall"),
    **dict.fromkeys(("cappedrecall", "recallcap", "rcap"), "calibrated_recall"),
    **dict.fromkeys(("f", "fmeasure", "fscore", "f1score"), "f1"),
    **dict.fromkeys(("rprec", "rp"), "r_precision"),
    **dict.fromkeys(("rr", "reciprank", "reciprocalrank", "meanreciprocalrank"), "mrr"),
    **dict.fromkeys(("ap", "avgprecision", "averageprecision", "meanaverageprecision"), "map"),
    "mapcut": "map_relevant",
    **dict.fromkeys(("ndcgcut", "normalizeddcg", "normalizeddiscountedcumulativegain"), "ndcg"),
    **dict.fromkeys(("cumulativegain", "discountedcumulativegain"), "dcg"),
    "rankbiasedprecision": "rbp",
    "expectedreciprocalrank": "err",
}
_CUT_OFF = re.compile(r"(?P<name>.*?)(?:[^a-z0-9](?:at|top|k)?)*(?P<k>[0-9]{1,10})?[^a-z0-9]*", re.ASCII | re.DOTALL)


def _meant(label: str, others: Collection[str]) -> str | None:
    """Return the label that a wrong one most resembles, if any does."""
    known = {_plain(name): name for name in (*REGISTRY, *others)} | _ALIASES
    found = _CUT_OFF.fullmatch(label.lower()) if len(label) < 80 else None
    if found is None:
        return None
    plain, k = _plain(found["name"]), found["k"]
    near = [plain] if plain in known else get_close_matches(plain, known, n=1, cutoff=0.75)
    if not near:
        return None
    name = known[near[0]]
    if k is None:
        return f"{name}@10" if name in others or getattr(REGISTRY[name], "needs_cut_off", False) else name
    # A name may end with a number itself.
    of_name = name == "r_precision" or (name.endswith(k) and not plain.endswith(k))
    return name if of_name else f"{name}@{k}"


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _options(text: str | None, label: str) -> dict[str, float]:
    options = {}
    for part in filter(None, (text or "").split(",")):
        name, equals, value = part.partition("=")
        name = name.strip().lower()
        if name in options:
            raise InvalidParameterError(f"{label!r} has the option {name!r} twice; write it once")
        try:
            options[name] = float(value)
        except ValueError as error:
            raise InvalidParameterError(f"{label!r} has the option {part!r}; write name=number") from error
        if not equals:
            raise InvalidParameterError(f"{label!r} has the option {part!r}; write name=number")
    return options
