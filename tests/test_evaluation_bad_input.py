"""What evaluations refuse: each message names the argument and the place, and nothing is half accumulated."""

import math

import numpy as np
import pytest
from scipy import sparse

from rankbound import (
    RankedLists,
    RankingEvaluator,
    evaluate_ranked_predictions,
    evaluate_recommender,
    evaluate_scores,
)
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    GainOverflowError,
    GradeError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    OpenTieError,
    RankboundError,
    ShapeError,
    UnknownLabelError,
)
from rankbound.metrics import (
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    RBP,
    HitRate,
    LogRBP,
    Precision,
    RankingMetric,
    Recall,
    RPrecision,
    parse,
)

TARGETS = np.array([[1, 0, 0, 0, 1], [0, 2, 0, 0, 0]])
LISTS = np.array([[0, 1, 2], [3, 1, 4]])
SCORES = np.array([[5.0, 4, 3, 2, 1], [1, 2, 3, 4, 5]])


def rank(predictions=LISTS, targets=TARGETS, **options):
    return evaluate_ranked_predictions(predictions, targets, **{"metrics": "recall@2"} | options)


def score(scores=SCORES, targets=TARGETS, **options):
    return evaluate_scores(scores, targets, **{"metrics": "recall@2"} | options)


def changed(array, place, value):
    array = np.asarray(array)
    copy = array.astype(np.result_type(array.dtype, type(value)))
    copy[place] = value
    return copy


def scored(scores, indices=LISTS, **options):
    return RankedLists(indices, scores=scores, **options)


FALLING = [[3.0, 2, 1], [3, 2, 1]]

REFUSED_LISTS = [
    ("out of bounds", lambda: rank(changed(LISTS, (1, 2), 5)), UnknownLabelError, "list 1 names item 5 at position 2"),
    ("negative", lambda: rank(changed(LISTS, (1, 0), -1)), UnknownLabelError, "predictions: list 1 names item -1"),
    ("beyond 32 bits", lambda: rank(changed(LISTS, (0, 0), 2**32)), UnknownLabelError, "item 4294967296"),
    ("twice", lambda: rank(changed(LISTS, (1, 2), 3)), DuplicateItemError, "list 1 names item 3 at positions 0 and 2"),
    ("NaN", lambda: rank(scored(changed(FALLING, (1, 1), math.nan))), NonFiniteScoreError, "list 1 .* position 1"),
    ("-inf", lambda: rank(scored(changed(FALLING, (1, 2), -math.inf))), NonFiniteScoreError, "list 1 .* position 2"),
    ("rising", lambda: rank(scored([[3, 2, 1], [3, 1, 2]])), InvalidParameterError, "list 1 .* 2 at position 2"),
    ("open tie", lambda: rank(scored([[3, 2, 1], [3, 1, 1]])), OpenTieError, "list 1 ends within a tie: 2 of its 3"),
    ("rows", lambda: rank(LISTS[:1]), ShapeError, "predictions has 1 rows, but targets has 2"),
    ("no rows", lambda: rank(LISTS[:0], TARGETS[:0]), EmptyInputError, "targets has no rows"),
    ("items", lambda: rank(RankedLists(LISTS, n_items=6)), ShapeError, "over 6 items, but targets has 5"),
    ("width", lambda: rank(metrics=[Recall(2), NDCG([2, 4])]), InvalidKError, r"ndcg@2,4, which looks at 4 .* of 3"),
    (
        "r-precision",
        lambda: rank(LISTS[:, :1], metrics="r_precision"),
        InvalidKError,
        "r_precision, which looks at 2 places for the 2 relevant items of row 0, but predictions has lists of 1",
    ),
    ("fractions", lambda: rank(LISTS / 2), InvalidTypeError, "predictions has dtype float64"),
    ("one dimension", lambda: rank(LISTS[0]), ShapeError, r"predictions has shape \(3,\)"),
    ("sparse", lambda: rank(sparse.csr_array(TARGETS)), InvalidTypeError, "predictions is a sparse matrix"),
    ("score shape", lambda: scored([[1, 2]]), ShapeError, r"scores has shape \(1, 2\), but indices has \(2, 3\)"),
    ("score dtype", lambda: scored([["a"] * 3] * 2), InvalidTypeError, "scores has dtype"),
    ("score integers", lambda: scored([[2**53, 2, 1]] * 2), InvalidTypeError, r"integers of 2\^53"),
    ("lengths", lambda: RankedLists(LISTS, lengths=[3, 4]), InvalidParameterError, "lengths has 4 at row 1; .* 0 to 3"),
    ("lengths shape", lambda: RankedLists(LISTS, lengths=[3]), ShapeError, "lengths has shape"),
    ("lengths dtype", lambda: RankedLists(LISTS, lengths=[3, 1.5]), InvalidTypeError, "lengths has dtype float64"),
    ("ids", lambda: rank(sample_ids=["a"]), ShapeError, "sample_ids has 1 entries, but there are 2 rows"),
    ("mixed ids", lambda: rank(sample_ids=["a", 1]), InvalidTypeError, r"sample_ids has 1 \(int\) at position 1"),
    ("missing id", lambda: rank(sample_ids=["a", None]), InvalidTypeError, "sample_ids has no id at position 1"),
    ("open_tie", lambda: rank(open_tie="ignore"), InvalidParameterError, "open_tie must be one of .* got 'ignore'"),
    ("duplicates", lambda: rank(duplicates="drop"), InvalidParameterError, "duplicates must be one of"),
    ("dtype", lambda: rank(per_user_dtype="float16"), InvalidParameterError, "per_user_dtype must be one of"),
    ("flag", lambda: rank(collect_per_user="no"), InvalidTypeError, "collect_per_user must be True or False"),
    ("metadata", lambda: rank(metadata=["a"]), InvalidTypeError, "metadata must be a mapping, got list"),
    ("slices", lambda: rank(slices=["a"]), InvalidTypeError, "slices must map names"),
    ("slice length", lambda: rank(slices={"a": [True]}), ShapeError, r"slices\['a'\] has 1 entries, .* 5 items"),
    ("slice twice", lambda: rank(slices={"a=b": [True, True], "a": ["b", "c"]}), InvalidParameterError, "'a=b' twice"),
]  # fmt: skip

REFUSED_TARGETS = [
    ("negative", changed(TARGETS, (1, 1), -1), GradeError, "grade -1 at row 1, item 1"),
    ("integer", changed(TARGETS, (1, 1), -1).astype(np.int8), GradeError, "grade -1 at row 1, item 1"),
    ("NaN", changed(TARGETS, (1, 4), math.nan), GradeError, "grade nan at row 1, item 4"),
    ("infinite", changed(TARGETS, (0, 3), math.inf), GradeError, "grade inf at row 0, item 3"),
    ("strings", [["a"] * 5] * 2, InvalidTypeError, "targets has dtype"),
    ("one dimension", TARGETS[0], ShapeError, r"targets has shape \(5,\)"),
    ("complex", sparse.csr_array(TARGETS * 1j), InvalidTypeError, "complex"),
]  # fmt: skip

REFUSED_SCORES = [
    ("NaN", lambda: score(changed(SCORES, (1, 3), math.nan)), NonFiniteScoreError, "scores has NaN at row 1, column 3"),
    ("inf", lambda: score(changed(SCORES, (0, 0), math.inf)), NonFiniteScoreError, "scores has inf at row 0, column 0"),
    ("-inf", lambda: score(changed(SCORES, (0, 2), -math.inf)), NonFiniteScoreError, "row 0, column 2.*mask_neg_inf"),
    ("shapes", lambda: score(SCORES[:, :4]), ShapeError, r"targets has shape \(2, 5\), but scores has \(2, 4\)"),
    ("nothing", lambda: score(np.empty((0, 5)), TARGETS[:0]), EmptyInputError, "nothing to rank"),
    ("booleans", lambda: score(SCORES > 2), InvalidTypeError, "scores has dtype bool"),
    ("all excluded", lambda: score(exclude=[[True] * 5, [False] * 5]), EmptyInputError, "0"),
    ("exclude shape", lambda: score(exclude=[[True] * 5]), ShapeError, r"exclude has shape \(1, 5\), but scores has"),
    ("mask dtype", lambda: score(mask=[0, 0, 1, 1, 1]), InvalidTypeError, "mask has dtype int64; it must be boolean"),
    ("sparse mask", lambda: score(mask=sparse.csr_array(TARGETS)), InvalidTypeError, "mask is a sparse .* as exclude"),
    ("all masked", lambda: score(SCORES, 0 * TARGETS, mask=[True] * 5), EmptyInputError, "row 0 has no .*or a mask"),
    ("mask shape", lambda: score(mask=[True]), ShapeError, r"mask has shape \(1,\); it must be \(2, 5\), or \(5,\)"),
    ("unseen", lambda: score(unseen="ignore"), InvalidParameterError, "unseen must be one of"),
    ("threads", lambda: score(num_threads=0), InvalidParameterError, "num_threads must be between 1"),
    ("progress", lambda: score(progress=3), InvalidTypeError, "progress must be True, False or callable"),
    ("ids", lambda: score(sample_ids=[1]), ShapeError, "sample_ids has 1 entries, but there are 2 rows"),
]  # fmt: skip

REFUSED_METRICS = [
    ("k below 1", lambda: Recall(0), InvalidKError, "cutoffs must be at least 1, got 0"),
    ("fraction", lambda: NDCG(2.5), InvalidKError, "cutoffs must be an integer, got 2.5"),
    ("one of several", lambda: NDCG([1, True]), InvalidKError, "cutoffs must be an integer, got True"),
    ("no cut-off", Precision, InvalidKError, r"Precision needs a cut-off, such as Precision\(10\)"),
    ("none at all", lambda: HitRate([]), InvalidKError, "HitRate got no cut-off"),
    ("needless", lambda: RPrecision(3), InvalidParameterError, "RPrecision takes no cut-off"),
    ("text", lambda: MRR("10"), InvalidKError, "cutoffs must be an integer, got '10'"),
    *[
        (f"patience {value}", lambda p=value, of=of: of(3, patience=p), InvalidParameterError, "between 0 and 1")
        for of in (RBP, LogRBP)
        for value in (0, 1, 1.5, -0.1, math.nan)
    ],
    ("patience text", lambda: RBP(patience="0.5"), InvalidTypeError, "patience must be a number"),
    ("gain", lambda: NDCG(3, gain="log"), InvalidParameterError, "gain must be one of"),
    ("rbp gain", lambda: RBP(3, gain="exp2"), InvalidParameterError, "gain must be one of"),
    ("discount", lambda: DCG(3, discount="ln"), InvalidParameterError, "discount must be one of"),
    ("denominator", lambda: MAP(3, denominator="k"), InvalidParameterError, "denominator must be one of"),
    ("max_grade", lambda: ERR(max_grade=0), InvalidParameterError, "max_grade must be above 0"),
    ("max_grade above", lambda: ERR(max_grade=41), InvalidParameterError, "at most 40"),
    ("both names", lambda: LogRBP(3, k=3), InvalidParameterError, "n=3 and k=3"),
    ("label", lambda: parse("qqq@10"), InvalidParameterError, "'qqq@10' names no metric; a label looks like"),
    ("no label", lambda: parse(10), InvalidParameterError, "names no metric"),
    ("label suffix", lambda: parse("ndcg@10.logmean"), InvalidParameterError, "names no metric"),
    ("label digits", lambda: parse("ndcg@" + "9" * 5000), InvalidParameterError, "names no metric"),
    ("label cut-off", lambda: parse("ndcg@0"), InvalidKError, "at least 1, got 0"),
    ("label without", lambda: parse("recall"), InvalidKError, "Recall needs a cut-off"),
    ("label option", lambda: parse("LogRBP@5[p=0.5]"), InvalidParameterError, "takes other options"),
    ("label no option", lambda: parse("err@5"), InvalidParameterError, r"it needs \[max_grade=...\]"),
    ("label value", lambda: parse("rbp@5[patience=high]"), InvalidParameterError, "write name=number"),
    ("empty", lambda: rank(metrics=[]), InvalidParameterError, "metrics is empty"),
    ("class", lambda: rank(metrics=[NDCG]), InvalidTypeError, r"which is no metric; write NDCG\(10\)"),
    ("number", lambda: rank(metrics=10), InvalidTypeError, "metrics must be metrics"),
    ("same key", lambda: rank(metrics=["ndcg@2", NDCG([1, 2])]), InvalidParameterError, "'ndcg@2' is the key of two"),
    ("no width", lambda: rank(LISTS[:, :0], metrics=None), InvalidParameterError, "metrics must be given"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [case[1:] for case in REFUSED_LISTS + REFUSED_SCORES + REFUSED_METRICS],
    ids=[case[0] for case in REFUSED_LISTS + REFUSED_SCORES + REFUSED_METRICS],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message) as raised:
        call()
    assert isinstance(raised.value, RankboundError)


@pytest.mark.parametrize(
    ("targets", "error", "message"), [case[1:] for case in REFUSED_TARGETS], ids=[case[0] for case in REFUSED_TARGETS]
)
def test_targets_are_refused_alike_everywhere(targets, error, message):
    evaluator = RankingEvaluator("recall@2")
    for call in (
        lambda: rank(targets=targets),
        lambda: score(targets=targets),
        lambda: evaluator.update(LISTS, targets),
    ):
        with pytest.raises(error, match=message):
            call()
    with pytest.raises(error, match=message):
        evaluate_recommender(Fixed(LISTS), source=LISTS, targets=targets, metrics="recall@2")


@pytest.mark.parametrize("change", ["indices", "indptr"])
def test_damaged_sparse_targets(change):
    targets = sparse.csr_array(TARGETS)
    if change == "indices":
        targets.indices[1] = 9
    else:
        targets.indptr[1] = 7
    with pytest.raises(ShapeError, match="targets"):
        rank(targets=targets)


def test_sparse_targets_that_only_claim_to_be_sorted():
    targets = sparse.csr_array(TARGETS)
    assert targets.has_canonical_format
    for values in (targets.indices, targets.data):
        values[:2] = values[:2][::-1].copy()
    assert rank(targets=targets) == rank(targets=TARGETS)


@pytest.mark.parametrize(
    ("metric", "grade", "error", "message"),
    [
        (
            NDCG(2, gain="exp2"),
            41,
            GainOverflowError,
            r"grade 41 at row 1, item 3, which has a gain of 2\^40 or more",
        ),
        (DCG(2, gain="linear"), 2.0**41, GainOverflowError, "row 1, item 3"),
        (ERR(2, max_grade=4), 5, GradeError, "grade 5 at row 1, item 3, which is above max_grade=4"),
        (RBP(2, gain="linear"), 1.5, GradeError, "grade 1.5 at row 1, item 3, which is above 1"),
    ],
    ids=str,
)
def test_grades_that_a_metric_cannot_use(metric, grade, error, message):
    targets = changed(TARGETS > 0, (1, 3), float(grade))
    evaluator = RankingEvaluator(metric)
    for call in (
        lambda: rank(targets=targets, metrics=metric),
        lambda: score(targets=targets, metrics=metric),
        lambda: evaluator.update(LISTS, targets),
    ):
        with pytest.raises(error, match=message):
            call()
    # Where grades do not matter, they are not looked at.
    assert score(targets=targets, metrics="ndcg@2").n_scored_rows == 2


class Fixed:
    """Recommends what it is told: the source is the recommendation."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict_on_batch(self, source, *, k):
        return source[:, :k] if self.predictions is None else self.predictions


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": object()}, InvalidTypeError, "model is a object without a method predict_on_batch"),
        ({"source": LISTS[:1]}, ShapeError, "source has 1 rows, but targets has 2"),
        ({"source": 7}, InvalidTypeError, "source is a int, whose rows cannot be counted"),
        ({"source": {1, 2}}, InvalidTypeError, "source is a set, whose rows cannot be counted and sliced"),
        ({"source": sparse.coo_matrix(LISTS)}, InvalidTypeError, "source is a coo_matrix, .* cannot be sliced .* CSR"),
        ({"source": sparse.bsr_matrix(LISTS)}, InvalidTypeError, "source is a bsr_matrix, .* cannot be sliced .* CSR"),
        ({"source": LISTS[:0], "targets": TARGETS[:0]}, EmptyInputError, "no rows"),
        ({"metrics": "mrr"}, InvalidParameterError, "metrics has mrr; a recommender needs cut-offs"),
        ({"metrics": None}, InvalidParameterError, "metrics must be given"),
        ({"logger": print}, InvalidTypeError, r"logger is a builtin_function_or_method without a method info"),
        ({"batch_size": 0}, InvalidParameterError, "batch_size must be at least 1, got 0"),
        ({"log_every_n_steps": -1}, InvalidParameterError, "log_every_n_steps"),
        (
            {"model": Fixed(LISTS[:, :1])},
            InvalidKError,
            "which looks at 2 places, but predictions has lists of 1",
        ),
        ({"model": Fixed(LISTS[:1])}, ShapeError, "predictions has 1 rows, but targets has 2"),
    ],
)
def test_recommenders(options, error, message):
    given = {"source": LISTS, "targets": TARGETS, "metrics": "recall@2"} | options
    model = given.pop("model", Fixed(None))
    with pytest.raises(error, match=message):
        evaluate_recommender(model, **given)


def test_sums_that_do_not_fit():
    # Each kind of list, with ties and without, fits by itself.
    scores = np.repeat([[1.0, 1.0], [2.0, 1.0]], 200, axis=0)
    targets = np.repeat([[2.0**39, 2.0**39], [2.0**39, 0]], 200, axis=0)
    for part in (slice(0, 200), slice(200, 400)):
        assert evaluate_scores(scores[part], targets[part], metrics=DCG(1, gain="linear"))["dcg_linear@1"] == 2.0**39
    with pytest.raises(InvalidParameterError, match="rescale the grades"):
        evaluate_scores(scores, targets, metrics=DCG(1, gain="linear"))


def test_the_batch_is_named():
    source = np.tile(LISTS[0], (7, 1))
    source[5, 1] = 9
    with pytest.raises(UnknownLabelError, match=r"rows 4 to 5.* list 1 names item 9 at position 1"):
        evaluate_recommender(Fixed(None), source=source, targets=np.ones((7, 5)), metrics="recall@2", batch_size=2)


class Total(RankingMetric):
    """Hits in the top 2, added up; refuses what it is told to refuse, after it has counted."""

    required_k, result_keys = 2, ("total",)
    refuse = ()

    def reset(self):
        self.total = 0
        self.seen = []

    def update(self, batch):
        self.total += int(batch.hits.sum())
        self.seen.append(len(batch.target_counts))
        if self.total in self.refuse:
            raise RuntimeError("as told")
        return batch.hits.sum(axis=1, keepdims=True).astype(float)

    def compute(self):
        return {"total": float(self.total + 100 * len(self.seen))}


def everything(evaluator):
    result = evaluator.compute()
    values = {key: column.tolist() for key, column in result.per_user.items()}
    facts = (result.metrics, result.ties, values, result.protocol, result.target_fingerprint, result.debug_rows)
    return repr((facts, result.sample_ids.tolist(), result.n_rows, result.n_scored_rows))


@pytest.mark.parametrize("with_own", [False, True], ids=["built-in", "own"])
def test_an_evaluator_goes_on_after_a_refusal(with_own, monkeypatch):
    metrics = [NDCG(2, gain="exp2"), "recall@1,2"] + ([Total()] if with_own else [])
    evaluator, straight = RankingEvaluator(metrics, debug=True), RankingEvaluator(metrics[:2], debug=True)
    if with_own:
        straight = RankingEvaluator([*metrics[:2], Total()], debug=True)
    for one in (evaluator, straight):
        one.update(LISTS, TARGETS)
    before = everything(evaluator)
    wrong = [
        (changed(LISTS, (1, 2), 9), TARGETS, {}),
        (changed(LISTS, (1, 2), 3), TARGETS, {}),
        (scored([[3, 2, 1], [3, 1, 2]]), TARGETS, {}),
        (scored([[3, 2, 1], [3, 1, 1]]), TARGETS, {}),
        (LISTS[:1], TARGETS, {}),
        (LISTS[:, :1], TARGETS, {}),
        (LISTS, changed(TARGETS, (1, 4), -1), {}),
        (LISTS, changed(TARGETS, (1, 4), 50), {}),
        (LISTS, np.ones((2, 6)), {}),
        (LISTS, TARGETS, {"sample_ids": ["a", "b"]}),
        (LISTS, TARGETS, {"sample_ids": [7, 8]}),
        (LISTS, TARGETS, {"sample_ids": [7]}),
    ]
    for lists, targets, options in wrong:
        with pytest.raises(RankboundError):
            evaluator.update(lists, targets, **options)
        assert everything(evaluator) == before
    if with_own:
        # Refused by the metric itself, after it had counted.
        with monkeypatch.context() as patch:
            patch.setattr(Total, "refuse", (4,))
            with pytest.raises(RuntimeError, match="as told"):
                evaluator.update(LISTS, TARGETS)
        assert everything(evaluator) == before
    for one in (evaluator, straight):
        one.update(LISTS[::-1], TARGETS)
    assert everything(evaluator) == everything(straight)


def test_evaluators_that_do_not_fit_are_not_merged():
    def evaluator(metrics="recall@2", targets=TARGETS, ids=None, **options):
        made = RankingEvaluator(metrics, **options)
        made.update(LISTS, targets, sample_ids=ids)
        return made

    mine = evaluator()
    before = everything(mine)
    for other, error, message in [
        (evaluator("recall@1"), InvalidParameterError, "different metrics"),
        (evaluator(open_tie="bounds"), InvalidParameterError, "different open_tie"),
        (evaluator(duplicates="keep_first"), InvalidParameterError, "open_tie or duplicates"),
        (evaluator(collect_per_user=False), InvalidParameterError, "different collect_per_user"),
        (evaluator(per_user_dtype="float32"), InvalidParameterError, "per_user_dtype"),
        (evaluator(targets=np.ones((2, 6))), InvalidParameterError, "5 and 6 items"),
        (evaluator(ids=["a", "b"]), InvalidTypeError, "for some batches and not for others"),
        (evaluator([Total()]), InvalidParameterError, "metrics of your own cannot be merged"),
        (rank(), InvalidTypeError, "other must be a RankingEvaluator, got EvaluationResult"),
    ]:
        with pytest.raises(error, match=message):
            mine.merge(other)
        assert everything(mine) == before
    with pytest.raises(InvalidTypeError, match="of another kind"):
        evaluator(ids=[1, 2]).merge(evaluator(ids=["a", "b"]))


def test_a_mask_that_looks_inverted_is_warned_of():
    with pytest.warns(UserWarning, match=r"mask takes 2 of 3 relevant items .* invert it") as caught:
        score(mask=[True, True, False, False, False])
    assert caught[0].filename == __file__
