"""What is graded: each truth of a list, its first one, or all as a set."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_choice
from rankbound.errors import EmptyInputError, InvalidParameterError, ReliabilityWarning
from rankbound.protocols.table import Codes, InteractionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRules:
    """Which truths are graded, what becomes of the others, and of those that are no candidates."""

    policy: str
    other_truths: str
    unseen: str

    @classmethod
    def of(cls, *, truth: Any, other_truths: Any, unseen: Any) -> "TruthRules":
        """Check the options; ``first`` is warned of.

        Parameters
        ----------
        truth : {"per_truth", "first", "set"}
            Which truths of a list are graded.
        other_truths : {"compete", "exclude"}
            Whether the other truths of the list stay candidates.
        unseen : {"miss", "drop"}
            What becomes of truths that are no candidates.

        Returns
        -------
        TruthRules
            The rules.

        Raises
        ------
        InvalidParameterError
            For other values, or if no truth is an other one.
        """
        rules = cls(
            policy=as_choice(truth, ("per_truth", "first", "set"), name="truth"),
            other_truths=as_choice(other_truths, ("compete", "exclude"), name="other_truths"),
            unseen=as_choice(unseen, ("miss", "drop"), name="unseen"),
        )
        if rules.policy == "set" and rules.other_truths == "exclude":
            raise InvalidParameterError(
                "other_truths='exclude' has no meaning with truth='set', which grades all truths of a list together; "
                "leave it out, or use truth='per_truth'"
            )
        if rules.policy == "first":
            warnings.warn(
                "truth='first' grades one truth of each list, which biases every metric down, most for entities with "
                "many truths; use truth='per_truth' or 'set' unless you must reproduce such numbers",
                ReliabilityWarning,
                stacklevel=3,
            )
        return rules

    def protocol(self, *, timed: bool) -> dict[str, Any]:
        """Return the part of the protocol that says so."""
        found = {
            "policy": self.policy,
            "other_truths": None if self.policy == "set" else self.other_truths,
            "unseen": self.unseen,
        }
        first_by = {"first_by": "timestamp, item" if timed else "item", "biased": "down"}
        return found | (first_by if self.policy == "first" else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """The graded lists.

    Attributes
    ----------
    list_codes : ndarray of shape (n_rows,), dtype int64
        List that each graded list is one of, rising.
    starts : ndarray of shape (n_rows + 1,), dtype int64
        Where the truths of each graded list start.
    places : ndarray of int64
        Rows of the table of truths.
    population : dict
        Counts.
    """

    list_codes: Codes
    starts: Codes
    places: Codes
    population: dict[str, int]


def grade(
    truths: InteractionTable,
    rules: TruthRules,
    *,
    known: NDArray[np.bool_],
    candidate: NDArray[np.bool_],
    n_candidates: Codes,
) -> Grading:
    """Choose what is graded.

    Parameters
    ----------
    truths : InteractionTable
        Rows with a label above 0, sorted by list and item, each item of a list once.
    rules : TruthRules
        The policy.
    known : ndarray of shape (n_truths,), dtype bool
        Whether the item of each row is a column.
    candidate : ndarray of shape (n_truths,), dtype bool
        Whether it is a candidate of its list.
    n_candidates : ndarray of shape (n_truths,), dtype int64
        Number of candidates of its list, all truths among them.

    Returns
    -------
    Grading
        At least one list.

    Raises
    ------
    EmptyInputError
        If nothing is left to grade, or to rank in a list.
    """
    if not len(truths):
        raise EmptyInputError("the test part has no label above 0: there is nothing to grade")
    places = np.arange(len(truths))
    if rules.policy == "first":
        times = np.zeros(len(truths)) if truths.times is None else truths.times
        by_time = np.lexsort((truths.item_codes, times, truths.list_codes))
        places = by_time[np.flatnonzero(np.diff(truths.list_codes[by_time], prepend=-1))]
    population = {
        "n_unseen_truth": int((~known[places]).sum()),
        "n_masked_truth": int((known[places] & ~candidate[places]).sum()),
    }
    if rules.unseen == "drop":
        places = places[candidate[places]]
        if not len(places):
            raise EmptyInputError(
                "no truth of the test part is a candidate and unseen='drop' leaves such truths out: there is nothing "
                "to grade; use unseen='miss'"
            )
    _check_candidates(truths, places, rules, candidate, n_candidates)
    lists = truths.list_codes[places]
    if rules.policy == "set":
        starts = np.flatnonzero(np.diff(lists, prepend=-1))
        lists, starts = lists[starts], np.append(starts, len(places))
    else:
        starts = np.arange(len(places) + 1)
    entities = truths.list_entities[lists]
    return Grading(
        list_codes=lists,
        starts=starts,
        places=places,
        population={
            "n_rows": len(lists),
            "n_eval_groups": len(np.unique(lists)),
            "n_units": len(np.unique(entities)),
            **population,
        },
    )


def _check_candidates(
    truths: InteractionTable,
    places: Codes,
    rules: TruthRules,
    candidate: NDArray[np.bool_],
    n_candidates: Codes,
) -> None:
    """Refuse a graded list in which nothing can be ranked."""
    left = n_candidates[places]
    if rules.other_truths == "exclude":
        of_list = np.bincount(truths.list_codes[candidate], minlength=len(truths.list_entities))
        left = left - of_list[truths.list_codes[places]] + candidate[places]
    if not left.all():
        row = int(places[left.argmin()])
        raise EmptyInputError(
            f"the list of {truths.show_row(row)} has no candidates: every item is excluded, as seen before or as "
            "another truth; use exclude_seen=False or other_truths='compete', or leave its rows out"
        )
