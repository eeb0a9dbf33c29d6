//! The bootstrap and the tests over units: see `rankbound_core::resample`.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rankbound_core::Error;
use rankbound_core::resample::{
    self, Alternative, Bootstrap, GapInterval, IntervalMethod, PATTERNS_OF_TASK, SignFlips,
};

use crate::run::{Progress, run, to_py};

/// Percentile limits of the means of all series, then of the gaps between pairs of them.
#[pyfunction]
#[pyo3(signature = (
    seed_words, series, counts, gaps, *, n_resamples, confidence_level, num_threads, progress
))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn bootstrap_limits(
    py: Python<'_>,
    seed_words: [u64; 4],
    series: Vec<PyReadonlyArray1<'_, f64>>,
    counts: Option<PyReadonlyArray1<'_, f64>>,
    gaps: Vec<(usize, usize)>,
    n_resamples: usize,
    confidence_level: f64,
    num_threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(f64, f64)>> {
    let series = series.iter().map(|values| Ok(values.as_slice()?)).collect::<PyResult<Vec<_>>>()?;
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let bootstrap = Bootstrap { series: &series, counts, seed_words, n_resamples };
    let progress = Progress { callable: progress, per_task: 1, total: n_resamples };
    run(py, num_threads, &progress, |par| bootstrap.limits(par, &gaps, confidence_level))
}

type PyGapInterval = (f64, f64, f64, f64, usize);

/// Interval, standard error and bootstrap p-value of every gap between means, or between logarithms of
/// means where the series have a log scale, as
/// `(ci_low, ci_high, standard_error, p_value, n_dropped)`.
#[pyfunction]
#[pyo3(signature = (
    seed_words, series, counts, gaps, *, log_scales, method, confidence_level, alternative, n_resamples, num_threads,
    progress
))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn gap_intervals(
    py: Python<'_>,
    seed_words: [u64; 4],
    series: Vec<PyReadonlyArray1<'_, f64>>,
    counts: Option<PyReadonlyArray1<'_, f64>>,
    gaps: Vec<(usize, usize)>,
    log_scales: Vec<Option<f64>>,
    method: &str,
    confidence_level: f64,
    alternative: &str,
    n_resamples: usize,
    num_threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyGapInterval>> {
    let series = series.iter().map(|values| Ok(values.as_slice()?)).collect::<PyResult<Vec<_>>>()?;
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let bootstrap = Bootstrap { series: &series, counts, seed_words, n_resamples };
    let progress = Progress { callable: progress, per_task: 1, total: n_resamples };
    let method = match method {
        "percentile" => IntervalMethod::Percentile,
        "bca" => IntervalMethod::Bca,
        "studentized" => IntervalMethod::Studentized,
        other => return Err(unknown("method", other)),
    };
    let alternative = to_alternative(alternative)?;
    let found = run(py, num_threads, &progress, |par| {
        bootstrap.gap_intervals(par, &gaps, &log_scales, method, confidence_level, alternative)
    })?;
    let row = |gap: GapInterval| (gap.low, gap.high, gap.standard_error, gap.p_value, gap.n_dropped);
    Ok(found.into_iter().map(row).collect())
}

/// The sign-flip p-value of every gap, and whether all patterns of signs were counted.
#[pyfunction]
#[pyo3(signature = (seed_words, series, gaps, *, alternative, n_resamples, num_threads, progress))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn sign_flip_p_values(
    py: Python<'_>,
    seed_words: [u64; 4],
    series: Vec<PyReadonlyArray1<'_, f64>>,
    gaps: Vec<(usize, usize)>,
    alternative: &str,
    n_resamples: usize,
    num_threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(f64, bool)>> {
    let series = series.iter().map(|values| Ok(values.as_slice()?)).collect::<PyResult<Vec<_>>>()?;
    let flips = SignFlips { series: &series, gaps: &gaps, seed_words, n_resamples };
    let progress = Progress { callable: progress, per_task: PATTERNS_OF_TASK, total: gaps.len() * n_resamples };
    let alternative = to_alternative(alternative)?;
    let found = run(py, num_threads, &progress, |par| flips.p_values(par, alternative))?;
    Ok(found.into_iter().map(|found| (found.p_value, found.exact)).collect())
}

/// The standard error of the gap between two means without resampling; 0 if all units have the same
/// gap.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn linearised_error(
    candidate: PyReadonlyArray1<'_, f64>,
    baseline: PyReadonlyArray1<'_, f64>,
    counts: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<f64> {
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    Ok(resample::linearised_error(candidate.as_slice()?, baseline.as_slice()?, counts))
}

fn to_alternative(name: &str) -> PyResult<Alternative> {
    match name {
        "two-sided" => Ok(Alternative::TwoSided),
        "greater" => Ok(Alternative::Greater),
        "less" => Ok(Alternative::Less),
        other => Err(unknown("alternative", other)),
    }
}

fn unknown(name: &str, value: &str) -> PyErr {
    to_py(&Error::Parameter(format!("{name} is unknown: {value:?}")))
}
