"""The real data and model behind ``rankbound demo``: which other area of a web site does a user visit.

The data is "Anonymous Microsoft Web Data" (1998) by Jack S. Breese, David Heckerman and Carl Kadie, UCI Machine
Learning Repository, https://doi.org/10.24432/C5VS3Q, licensed CC BY 4.0. ``rankbound/data/NOTICE.md`` says what was
changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["ATTRIBUTION", "DemoCase", "MsWeb", "ease_weights", "load_msweb", "msweb_case"]

# The licence asks that a copy name creators, source and licence; inside the packed file, it travels with the file.
ATTRIBUTION = (
    "Anonymous Microsoft Web Data (1998) by Jack S. Breese, David Heckerman and Carl Kadie, UCI Machine Learning "
    "Repository, https://doi.org/10.24432/C5VS3Q, CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/); "
    "packed into arrays, nothing removed or added."
)

# Chosen on training users only: a round value between those that suit hit@10 and mrr@10 best. Neither depends much
# on it.
RIDGE = 100.0

# An area with fewer training visits is not modelled: its column stays exactly zero.
MIN_VISITS = 20

# Weights are rounded to multiples of this, see `msweb_case`. The step is far wider than what the last bits
# of a weight, which depend on the machine's BLAS, can move it; and no weight is that close to a rounding boundary.
GRID = 2.0**-20


@dataclass(frozen=True, slots=True, kw_only=True)
class MsWeb:
    """The visits of one week of February 1998, as distributed.

    Data: Jack S. Breese, David Heckerman and Carl Kadie, UCI Machine Learning Repository,
    https://doi.org/10.24432/C5VS3Q, CC BY 4.0.

    Attributes
    ----------
    area_ids : ndarray of uint16, shape (n_areas,)
        The data's own number of each area ("Vroot"), ascending.
    titles, paths : ndarray of str, shape (n_areas,)
        Title and path of each area. Paths are unique, titles are not.
    train, test : csr_array of bool, shape (n_users, n_areas)
        True where the user visited the area. The order of a user's visits is not known.
    train_users, test_users : ndarray of int64, shape (n_users,)
        The data's own number of each user. Both files count from 10001: equal numbers are not the same user.
    """

    area_ids: NDArray[np.uint16]
    titles: NDArray[np.str_]
    paths: NDArray[np.str_]
    train: csr_array
    test: csr_array
    train_users: NDArray[np.int64]
    test_users: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCase:
    """A model's scores for one hidden visit of each test user, and what is needed to judge them.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_users, n_areas)
        Estimated probabilities in [0, 1]; higher is better. Areas that the model does not know are exactly 0.
    truth : ndarray of int64, shape (n_users,)
        Column of the one visited area that was hidden from the model.
    exclude : csr_array of bool, shape (n_users, n_areas)
        True where the user's visit was visible to the model: no candidate for this user.
    y_train : ndarray of int64, shape (n_visits,)
        Column of each training visit.
    classes : ndarray of str, shape (n_areas,)
        A unique name per area: its title, followed by its path where several areas share the title.
    groups : ndarray of int64, shape (n_users,)
        The user of each row.
    """

    scores: NDArray[np.float64]
    truth: NDArray[np.int64]
    exclude: csr_array
    y_train: NDArray[np.int64]
    classes: NDArray[np.str_]
    groups: NDArray[np.int64]


def load_msweb() -> MsWeb:
    """Load the anonymous web data of www.microsoft.com that the package carries.

    Data: Jack S. Breese, David Heckerman and Carl Kadie, UCI Machine Learning Repository,
    https://doi.org/10.24432/C5VS3Q, CC BY 4.0.

    Returns
    -------
    MsWeb
        98,654 visits of 32,711 training users and 15,191 visits of 5,000 test users to 294 areas.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # `import rankbound` stays light

    with (
        files("rankbound").joinpath("data", "msweb.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        arrays = dict(archive)

    def visits(part: str) -> tuple[csr_array, NDArray[np.int64]]:
        indices, indptr = arrays[f"{part}_indices"].astype(np.int32), arrays[f"{part}_indptr"]
        shape = (len(indptr) - 1, len(arrays["area_ids"]))
        users = int(arrays[f"{part}_first_user"]) + np.arange(shape[0], dtype=np.int64)
        return csr_array((np.ones(len(indices), dtype=np.bool_), indices, indptr), shape=shape), users

    train, train_users = visits("train")
    test, test_users = visits("test")
    return MsWeb(
        area_ids=arrays["area_ids"],
        titles=arrays["titles"],
        paths=arrays["paths"],
        train=train,
        test=test,
        train_users=train_users,
        test_users=test_users,
    )


def ease_weights(gram: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """Fit the item-to-item ridge model EASE in closed form.

    The weights ``B`` minimise ``||X - X B||^2 + ridge ||B||^2`` subject to a zero diagonal, so that no item predicts
    itself: ``P = inv(X'X + ridge I)``, ``B = -P / diag(P)`` column by column off the diagonal.

    Parameters
    ----------
    gram : ndarray of float64, shape (n_items, n_items)
        ``X'X``: how many users interacted with both items.
    ridge : float
        Strength of the regularisation, in interactions; above 0.

    Returns
    -------
    ndarray of float64, shape (n_items, n_items)
        ``B``; a user with interactions ``x`` scores the items ``x @ B``.

    References
    ----------
    Steck, H. (2019). Embarrassingly shallow autoencoders for sparse data. The World Wide Web Conference, 3251-3257.
    https://doi.org/10.1145/3308558.3313710
    """
    precision = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    weights: NDArray[np.float64] = -precision / np.diag(precision)
    np.fill_diagonal(weights, 0.0)
    return weights


def msweb_case(*, seed: int = 0) -> DemoCase:
    """Hide one visited area of each test user and score all areas from the user's other visits.

    Data: Jack S. Breese, David Heckerman and Carl Kadie, UCI Machine Learning Repository,
    https://doi.org/10.24432/C5VS3Q, CC BY 4.0.

    Parameters
    ----------
    seed : int, default 0
        Seeds the choice of the hidden area, uniform over the user's visited areas.

    Returns
    -------
    DemoCase
        One row per test user with at least two visits.

    Notes
    -----
    - The model is EASE with ridge 100, fitted on the training users. Ridge regression on visits of 0 and 1 is a linear
      probability model, so its scores are clipped to [0, 1]; the popularity discount refuses negative ones.
    - Areas with fewer than 20 training visits are left out of the model. Their columns are exactly zero: structural
      ties. A hidden area may be one of them.
    - The weights are rounded to multiples of ``2**-20``. Sums of those are exact in any order, so that the last bits of
      a machine's BLAS neither make nor break a tie.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # `import rankbound` stays light

    data = load_msweb()
    modelled = data.train.sum(axis=0) >= MIN_VISITS
    train = data.train[:, modelled].astype(np.float64)
    weights = np.round(ease_weights((train.T @ train).toarray(), RIDGE) / GRID) * GRID

    rows = np.flatnonzero(np.diff(data.test.indptr) >= 2)
    test = data.test[rows]
    hidden = test.indptr[:-1] + np.random.default_rng(seed).integers(np.diff(test.indptr))
    visible = np.delete(test.indices, hidden)
    exclude = csr_array(
        (np.ones(len(visible), dtype=np.bool_), visible, test.indptr - np.arange(len(rows) + 1)),
        shape=test.shape,
    )
    scores = np.zeros(test.shape)
    scores[:, modelled] = np.clip(exclude[:, modelled].astype(np.float64) @ weights, 0.0, 1.0)

    titles, place, count = np.unique(data.titles, return_inverse=True, return_counts=True)
    classes = [
        f"{title} ({path})" if repeated else str(title)
        for title, path, repeated in zip(titles[place], data.paths, count[place] > 1, strict=True)
    ]
    return DemoCase(
        scores=scores,
        truth=test.indices[hidden].astype(np.int64),
        exclude=exclude,
        y_train=data.train.indices.astype(np.int64),
        classes=np.array(classes),
        groups=data.test_users[rows],
    )
