"""Options of a report: checked, frozen, and readable from TOML."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbound import RankingConfig, RankingObjective, build_ranking_report
from rankbound.errors import (
    FileFormatError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
)

OBJECTIVES = ("accuracy", "balanced", "coverage")


def test_defaults():
    config = RankingConfig()
    assert (config.k, config.primary_metric, config.primary_objective, config.seed) == (10, "ndcg", "accuracy", 0)
    assert (config.n_resamples, config.confidence_level, config.tail_mass, config.unseen) == (1000, 0.95, 0.2, "miss")
    assert config.blocks == OBJECTIVES
    with pytest.raises(AttributeError):
        config.k = 3


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        ({"eval_all_objectives": False}, ("accuracy",)),
        ({"eval_all_objectives": False, "primary_objective": "coverage"}, ("coverage",)),
        ({"objectives": ["coverage", "accuracy", "coverage"]}, ("accuracy", "coverage")),
        ({"objectives": ("accuracy",)}, ("accuracy",)),
        ({"objectives": ["balanced"], "primary_objective": "balanced"}, ("balanced",)),
        ({"objectives": [RankingObjective.ACCURACY]}, ("accuracy",)),
    ],
)
def test_blocks(options, blocks):
    config = RankingConfig(n_resamples=0, **options)
    assert config.blocks == blocks
    report = build_ranking_report(np.eye(3), [0, 1, 2], config=config)
    assert tuple(report["objectives"]) == blocks


def test_options_become_plain():
    config = RankingConfig(
        k=np.int32(3),
        seed=np.uint8(4),
        tail_mass=0,
        popularity_discount=np.float32(0.5),
        shrinkage_strength=np.int64(2),
    )
    fields = msgspec.structs.asdict(config)
    names = ("k", "seed", "tail_mass", "popularity_discount", "shrinkage_strength")
    assert [type(fields[name]) for name in names] == [int, int, float, float, float]
    assert type(RankingConfig(primary_objective=RankingObjective.COVERAGE).primary_objective) is str


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        *(({"k": k}, InvalidKError, "k must be") for k in (0, -3, 2.0, "3", None, True, math.nan)),
        (
            {"primary_metric": "map"},
            InvalidParameterError,
            "primary_metric must be one of 'ndcg', 'mrr', 'hit', got 'map'",
        ),
        ({"primary_objective": "fair"}, InvalidParameterError, "primary_objective must be one of .*, got 'fair'"),
        ({"primary_objective": None}, InvalidParameterError, "primary_objective must be one of"),
        ({"objectives": ["fair"]}, InvalidParameterError, "objectives must be one of .*, got 'fair'"),
        ({"objectives": []}, InvalidParameterError, "objectives is empty"),
        ({"objectives": "accuracy"}, InvalidTypeError, "objectives must be a list of objectives, got 'accuracy'"),
        ({"objectives": 3}, InvalidTypeError, "objectives must be a list of objectives, got 3"),
        ({"objectives": ["coverage"]}, InvalidParameterError, "primary_objective 'accuracy' is not among objectives"),
        ({"n_resamples": 10**12}, InvalidParameterError, "n_resamples must be at most 10000000, got 1000000000000"),
        ({"k": 10**30}, InvalidKError, "k must be at most 2147483647"),
        ({"percentile_objectives": ["x"]}, InvalidParameterError, "percentile_objectives must be one of .*, got 'x'"),
        ({"percentile_objectives": None}, InvalidTypeError, "percentile_objectives must be a list"),
        (
            {"percentile_objectives": ["accuracy"], "popularity_discount": 0.5},
            InvalidParameterError,
            "popularity_discount=0.5 cannot apply to 'accuracy'",
        ),
        (
            {"percentile_objectives": ["accuracy"], "shrinkage_strength": 3},
            InvalidParameterError,
            "shrinkage_strength=3 cannot apply to 'accuracy'",
        ),
        ({"unseen": "ignore"}, InvalidParameterError, "unseen must be one of 'miss', 'drop', got 'ignore'"),
        ({"eval_all_objectives": 1}, InvalidTypeError, "eval_all_objectives must be True or False, got 1"),
        ({"mask_neg_inf": "no"}, InvalidTypeError, "mask_neg_inf must be True or False, got 'no'"),
        ({"n_resamples": -1}, InvalidParameterError, "n_resamples must be at least 0, got -1"),
        ({"n_resamples": 10.0}, InvalidTypeError, "n_resamples must be an integer, got 10.0"),
        ({"seed": -1}, InvalidParameterError, "seed must be at least 0, got -1"),
        ({"seed": None}, InvalidTypeError, "seed must be an integer, got None"),
        ({"shrinkage_strength": -1}, InvalidParameterError, "shrinkage_strength must be finite and at least 0, got -1"),
        ({"shrinkage_strength": math.inf}, InvalidParameterError, "shrinkage_strength must be finite"),
        ({"shrinkage_strength": "5"}, InvalidTypeError, "shrinkage_strength must be a number, got '5'"),
        ({"popularity_discount": -0.5}, InvalidParameterError, "popularity_discount must be finite and at least 0"),
        ({"popularity_discount": math.nan}, InvalidParameterError, "popularity_discount must be finite"),
        ({"tail_mass": 1.01}, InvalidParameterError, "tail_mass must be from 0 to 1, got 1.01"),
        ({"tail_mass": -0.1}, InvalidParameterError, "tail_mass must be finite and at least 0, got -0.1"),
        ({"confidence_level": 1}, InvalidParameterError, "confidence_level must lie between 0 and 1, got 1"),
        ({"confidence_level": 0}, InvalidParameterError, "confidence_level must lie between 0 and 1, got 0"),
        ({"confidence_level": 95}, InvalidParameterError, "confidence_level must lie between 0 and 1, got 95"),
        ({"num_threads": 0}, InvalidParameterError, "num_threads must be between 1 and 1024, got 0"),
        ({"num_threads": 1.0}, InvalidTypeError, "num_threads must be an integer, got 1.0"),
    ],
)
def test_refused_options(options, error, words):
    with pytest.raises(error, match=words):
        RankingConfig(**options)
    with pytest.raises(error, match=words):
        RankingConfig().replace(**options)
    with pytest.raises(error, match=words):
        build_ranking_report(np.eye(2), [0, 1], **options)


def test_unknown_options():
    for change in (
        RankingConfig,
        RankingConfig().replace,
        lambda **options: build_ranking_report([[1.0]], [0], **options),
    ):
        with pytest.raises(
            InvalidParameterError, match="options: 'n_resample' is no option; did you mean 'n_resamples'"
        ):
            change(n_resample=3)
        with pytest.raises(InvalidParameterError, match="options: 'zzz' is no option; there are k, primary_metric"):
            change(zzz=3)
    with pytest.raises(InvalidTypeError, match="RankingConfig takes options by name only, such as k=10, got 3"):
        RankingConfig(3)
    with pytest.raises(InvalidTypeError, match="config must be a RankingConfig, got dict"):
        build_ranking_report([[1.0]], [0], config={"k": 3})


numbers = st.floats(0, 1e300)


@st.composite
def configs(draw):
    primary = draw(st.sampled_from(OBJECTIVES))
    others = draw(st.lists(st.sampled_from([name for name in OBJECTIVES if name != primary]), unique=True))
    return RankingConfig(
        k=draw(st.integers(1, 2**31 - 1)),
        primary_metric=draw(st.sampled_from(["ndcg", "mrr", "hit"])),
        primary_objective=primary,
        objectives=draw(st.one_of(st.none(), st.just([primary, *others]))),
        eval_all_objectives=draw(st.booleans()) or bool(others),
        percentile_objectives=others,
        popularity_discount=draw(st.one_of(st.none(), numbers)),
        shrinkage_strength=draw(numbers),
        unseen=draw(st.sampled_from(["miss", "drop"])),
        mask_neg_inf=draw(st.booleans()),
        tail_mass=draw(st.floats(0, 1)),
        n_resamples=draw(st.integers(0, 10**7)),
        confidence_level=draw(st.floats(0, 1, exclude_min=True, exclude_max=True)),
        seed=draw(st.integers(0, 2**130)),
        num_threads=draw(st.one_of(st.none(), st.integers(1, 1024))),
    )


@settings(max_examples=80, deadline=None)
@given(configs())
def test_toml_round_trip(config):
    text = config.to_toml()
    assert RankingConfig.from_toml(text) == config
    assert len(text.splitlines()) == len(RankingConfig.__struct_fields__)
    assert RankingConfig().replace(**msgspec.structs.asdict(config)) == config


def test_toml(tmp_path):
    path = tmp_path / "ranking.toml"
    path.write_text('# our settings\nk = 20\nobjectives = ["coverage", "accuracy"]\ntail_mass = 1\n', encoding="utf-8")
    assert RankingConfig.load(path) == RankingConfig(k=20, objectives=("accuracy", "coverage"), tail_mass=1.0)
    assert RankingConfig.load(str(path)).k == 20
    assert RankingConfig.from_toml("") == RankingConfig()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("k = ", InvalidParameterError, "the configuration is not valid TOML"),
        ("kk = 3", InvalidParameterError, "the configuration: 'kk' is no option; did you mean 'k'"),
        ("[ranking]\nk = 3", InvalidParameterError, "the configuration: 'ranking' is no option"),
        ("k = 0", InvalidKError, "k must be at least 1, got 0"),
        ('seed = "0"', InvalidTypeError, "seed must be an integer, got '0'"),
        ("tail_mass = nan", InvalidParameterError, "tail_mass must be finite"),
    ],
)
def test_refused_toml(tmp_path, text, error, words):
    path = tmp_path / "ranking.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=words):
        RankingConfig.from_toml(text)
    with pytest.raises(error, match=words):
        RankingConfig.load(path)


def test_unreadable_files(tmp_path):
    path = tmp_path / "ranking.toml"
    with pytest.raises(FileFormatError, match=r"cannot read the configuration .*ranking\.toml"):
        RankingConfig.load(path)
    with pytest.raises(FileFormatError, match="cannot read the configuration"):
        RankingConfig.load(tmp_path)
    path.write_bytes(b"k = 3 # \xff\xfe")
    with pytest.raises(FileFormatError, match="cannot read the configuration"):
        RankingConfig.load(path)


def test_percentile_objectives_must_be_reported():
    with pytest.raises(InvalidParameterError, match="percentile_objectives names 'balanced'"):
        RankingConfig(eval_all_objectives=False, percentile_objectives=["balanced"])
