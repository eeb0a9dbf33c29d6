//! The bootstrap over units: see `rankbound_core::resample`.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rankbound_core::resample::Bootstrap;

use crate::run::{Progress, run};

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
