"""What is not compared, and why."""

import math

import numpy as np
import pytest

from compared import PROTOCOL, Report, Result, result
from rankbound import compare_models, compare_pair
from rankbound.compare import compare_slices
from rankbound.errors import ComparisonError, EmptyInputError, InvalidParameterError, InvalidTypeError, ShapeError

QUICK = {"n_resamples": 500, "num_threads": 2}


def with_field(path, value):
    part, field = path.split(".")
    return PROTOCOL | {part: PROTOCOL[part] | {field: value}}


def test_what_a_protocol_may_differ_in():
    for protocol in (
        with_field("metrics.k", 20),
        with_field("metrics.names", ["m", "n"]),
        PROTOCOL | {"version": "2.0", "timings": {"total": 3.0}, "uncertainty": None},
        # What is compared, and what no metric per list depends on.
        PROTOCOL | {"transform": {"objectives": {"accuracy": 0.0}, "state_hash": "x"}, "catalogue": {"K": 3}},
    ):
        compare_pair(result([1, 0]), result([0, 1], protocol=protocol), "m", **QUICK)


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        (result([1, 2, 3], [0, 1, 3]), ComparisonError, "sample ids differ first at position 2, 2 and 3"),
        (result([1, 2, 3], [0, 2, 1]), ComparisonError, "sample ids differ first at position 1, 1 and 2"),
        (result([1, 2, 3], ["0", "1", "2"]), ComparisonError, "sample ids differ first at position 0, 0 and '0'"),
        (result([1, 2]), ComparisonError, "they have 3 and 2 scored lists"),
        (result([1, 2, 3], fingerprint="x"), ComparisonError, r"different targets \(fingerprints targets and x\)"),
        (Result(None), ComparisonError, "candidate has no values per user and cannot be paired"),
        (Report(None), ComparisonError, "candidate has no values per unit and cannot be paired"),
        (
            result([1, 2, 3], protocol=with_field("truth.unseen", "drop")),
            ComparisonError,
            "different protocols and cannot be compared: truth.unseen is 'miss' and 'drop'",
        ),
        (
            result([1, 2, 3], protocol=PROTOCOL | {"ties": {"rule": "min"}}),
            ComparisonError,
            "ties.rule is 'expectation' and 'min'; ties.equality is 'exact' and missing",
        ),
        (
            result([1, 2, 3], protocol=PROTOCOL | {"transform": {"state_fitted_on": "holdout"}}),
            ComparisonError,
            "transform.state_fitted_on is missing and 'holdout'",
        ),
        (result([1, 2, 3], protocol=with_field("metrics.gain", "exp2")), ComparisonError, "metrics.gain is 'binary'"),
        (result([1, 2, math.nan], aggregates={}), ComparisonError, "candidate has no value at id 2, where"),
        (result([1, 2, 3], aggregates={"m": "two"}), ComparisonError, "candidate has 'two', which is no number"),
        (result([1, math.inf, 3]), ComparisonError, "'m' cannot be compared: candidate has inf at id 1; values that"),
        (result([1, 2, 2.0**40]), ComparisonError, "candidate has 1099511627776.0 at id 2"),
        (Result({"n": [1, 2, 3]}), InvalidParameterError, "candidate has no metric 'm'; it has n"),
        (result([1, 2, 3], [0, 1]), ShapeError, "candidate has 3 values under 'm', but 2 ids"),
        (result([], [], aggregates={}), EmptyInputError, "candidate has no scored lists"),
        (result([1, 2, 3], np.array([0, None, 2])), InvalidTypeError, "candidate has no id at position 1"),
        ([1, 2, 3], InvalidTypeError, "candidate is a list; compare EvaluationResults"),
    ],
)  # fmt: skip
def test_what_cannot_be_paired_is_refused(other, error, words):
    with pytest.raises(error, match=words):
        compare_pair(result([1, 2, 3]), other, "m", **QUICK)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"alternative": "both"}, InvalidParameterError, "alternative must be one of 'two-sided'"),
        ({"test_method": "wilcoxon"}, InvalidParameterError, "test_method must be one of 'randomization'"),
        ({"interval_method": "basic"}, InvalidParameterError, "interval_method must be one of"),
        ({"correction": "fdr"}, InvalidParameterError, "correction must be one of 'holm'"),
        ({"n_resamples": 0}, InvalidParameterError, "n_resamples must be at least 1, got 0"),
        ({"looks": 0}, InvalidParameterError, "looks must be at least 1, got 0"),
        ({"seed": -1}, InvalidParameterError, "seed must be at least 0"),
        ({"confidence_level": 1}, InvalidParameterError, "confidence_level must lie between"),
        ({"reference": "z"}, InvalidParameterError, "reference must be one of 'a', 'b'"),
        ({"metrics": "m"}, InvalidTypeError, r"metrics must be a list of keys, got 'm'; use \['m'\]"),
        ({"metrics": []}, InvalidParameterError, "metrics is empty"),
        ({"metrics": 3}, InvalidTypeError, "a metric must be the key of a result, .* got 3"),
        ({"metrics": [["m"]]}, InvalidTypeError, r"a metric must be the key of a result, .* got \['m'\]"),
        ({"show_progress": "yes"}, InvalidTypeError, "show_progress must be True, False or callable, got 'yes'"),
    ],
)
def test_options_are_checked(options, error, words):
    with pytest.raises(error, match=words):
        compare_models({"a": result([1, 0]), "b": result([0, 1])}, **options)


def test_too_few_models_are_refused():
    with pytest.raises(InvalidParameterError, match="results has 1 model"):
        compare_models({"a": result([1, 0])})
    with pytest.raises(InvalidTypeError, match="results must map names to results, got list"):
        compare_models([result([1, 0])])
    with pytest.raises(InvalidTypeError, match="results has the model 1; name models by strings"):
        compare_models({"1": result([1, 0]), 1: result([0, 1])})
    with pytest.raises(InvalidParameterError, match="no metric in common"):
        compare_models({"a": Result({"m": [1, 0]}), "b": Result({"n": [1, 0]})})
    with pytest.raises(ShapeError, match="slices has 1 entries, but there are 2 scored lists"):
        compare_slices(result([1, 0]), result([0, 1]), "m", slices=["x"])
    with pytest.raises(InvalidTypeError, match="slices has no label at position 1"):
        compare_slices(result([1, 0]), result([0, 1]), "m", slices=["x", None])
