"""Judgements and runs with the methods that ranx gives them."""

from collections.abc import Iterable, KeysView, Mapping
from typing import Any, Self

from rankbound._messages import shortened
from rankbound._options import as_items
from rankbound._tables import as_numbers, read_columns
from rankbound.compat._runs import check_nested
from rankbound.errors import DuplicateItemError, InvalidTypeError, ShapeError


class _Documents:
    """Numbers by query and document."""

    def __init__(self, data: Mapping[str, Mapping[str, float]] | None, name: str | None, *, what: str) -> None:
        check_nested({} if data is None else data, name=what)
        self.name = name
        self._data = {query: dict(documents) for query, documents in (data or {}).items()}

    @classmethod
    def from_dict(cls, d: Mapping[str, Mapping[str, float]], name: str | None = None) -> Self:
        """Return the judgements or the run that a dict of dicts holds.

        Parameters
        ----------
        d : mapping of str to mapping of str to number
            Numbers by query and document.
        name : str or None, default None
            Its name.

        Returns
        -------
        Qrels or Run
            A copy.
        """
        return cls(d, name)  # type: ignore[call-arg]

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        name: str | None = None,
    ) -> Self:
        """Return the judgements or the run that a table holds.

        Parameters
        ----------
        df : mapping of str to array_like, or frame
            A row per query and document; eager frames of pandas, polars, pyarrow and other libraries.
        q_id_col, doc_id_col, score_col : str
            Columns: ids are strings.
        name : str or None, default None
            Its name.

        Returns
        -------
        Qrels or Run
            In the order of the rows.

        Raises
        ------
        DuplicateItemError
            For a second row of the same query and document.
        InvalidTypeError, InvalidParameterError
            For ids that are no strings, and for columns that do not exist or have gaps.
        """
        columns = read_columns(df, (q_id_col, doc_id_col, score_col), name="df")
        numbers = as_numbers(columns[score_col], name=f"df[{score_col!r}]").tolist()
        data: dict[str, dict[str, float]] = {}
        ids = columns[q_id_col].tolist(), columns[doc_id_col].tolist()
        for row, (query, document, number) in enumerate(zip(*ids, numbers, strict=True)):
            documents = data.setdefault(query, {})
            if document in documents:
                raise DuplicateItemError(f"df has query {query!r} and document {document!r} again at row {row}")
            documents[document] = number
        return cls.from_dict(data, name)

    def add_score(self, q_id: str, doc_id: str, score: float) -> None:
        """Set the number of a document of a query."""
        check_nested({q_id: {doc_id: score}}, name="add_score")
        self._data.setdefault(q_id, {})[doc_id] = score

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[float]) -> None:
        """Set the documents of a query, with their numbers."""
        documents = as_items(doc_ids, name="doc_ids", of="document ids")
        numbers = as_items(scores, name="scores", of="numbers")
        if len(documents) != len(numbers):
            raise ShapeError(f"query {q_id!r} has {len(documents)} documents, but {len(numbers)} numbers")
        if len(set(documents)) != len(documents):
            raise DuplicateItemError(f"query {q_id!r} has a document twice; name each once")
        data = {q_id: dict(zip(documents, numbers, strict=True))}
        check_nested(data, name="add")
        self._data.update(data)

    def add_multi(
        self, q_ids: Iterable[str], doc_ids: Iterable[Iterable[str]], scores: Iterable[Iterable[float]]
    ) -> None:
        """Set the documents of several queries."""
        queries = as_items(q_ids, name="q_ids", of="query ids")
        lists = as_items(doc_ids, name="doc_ids", of="lists of document ids")
        numbered = as_items(scores, name="scores", of="lists of numbers")
        if not len(queries) == len(lists) == len(numbered):
            raise ShapeError(
                f"q_ids has {len(queries)} queries, doc_ids {len(lists)} lists and scores {len(numbered)}; give one of "
                "each per query"
            )
        for query, documents, numbers in zip(queries, lists, numbered, strict=True):
            self.add(query, documents, numbers)

    def keys(self) -> KeysView[str]:
        """Return the query ids."""
        return self._data.keys()

    def get_query_ids(self) -> list[str]:
        """Return the query ids, sorted."""
        return sorted(self._data)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return a copy as a dict of dicts."""
        return {query: dict(documents) for query, documents in self._data.items()}

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self._data)

    def __getitem__(self, q_id: str) -> dict[str, float]:
        try:
            return dict(self._data[q_id])
        except KeyError:
            raise KeyError(f"{q_id!r} is not among the {len(self)} queries; see keys()") from None

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        named = "" if self.name is None else f" {self.name!r}"
        return f"<{type(self).__name__}{named} of {len(self)} queries>"


class Qrels(_Documents):
    """Relevance judgements, as ``ranx.Qrels``.

    Parameters
    ----------
    qrels : mapping of str to mapping of str to int, or None, default None
        Grade of each judged document by query; None is empty.
    name : str or None, default None
        Its name.

    Examples
    --------
    >>> from rankbound.compat.ranx import Qrels
    >>> qrels = Qrels({"q1": {"d1": 1}}, name="test")
    >>> qrels.add_score("q2", "d1", 2)
    >>> qrels
    <Qrels 'test' of 2 queries>
    """

    def __init__(self, qrels: Mapping[str, Mapping[str, float]] | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name, what="qrels")


class Run(_Documents):
    """What a model retrieved, as ``ranx.Run``.

    Parameters
    ----------
    run : mapping of str to mapping of str to float, or None, default None
        Score of each listed document by query; None is empty.
    name : str or None, default None
        Its name.

    Attributes
    ----------
    scores : dict of str to dict of str to float
        Values by metric and query, from :func:`evaluate`.
    mean_scores, std_scores : dict of str to float
        Means and standard deviations by metric.
    metadata : dict
        Whatever the user puts there.
    """

    def __init__(self, run: Mapping[str, Mapping[str, float]] | None = None, name: str | None = None) -> None:
        super().__init__(run, name, what="run")
        self.scores: dict[str, dict[str, float]] = {}
        self.mean_scores: dict[str, float] = {}
        self.std_scores: dict[str, float] = {}
        self.metadata: dict[str, Any] = {}

    def make_comparable(self, qrels: Qrels) -> "Run":
        """Make queries that are missing empty lists, leave out those that are not judged, and return the run."""
        if not isinstance(qrels, Qrels):
            raise InvalidTypeError(f"qrels must be Qrels, got {shortened(qrels)}")
        self._data = {query: self._data.get(query, {}) for query in qrels.keys()}  # noqa: SIM118 - no mapping
        return self
