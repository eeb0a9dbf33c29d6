//! Kendall's measures between rankings: see `rankbound_core::label_ranking`.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rankbound_core::label_ranking;

use crate::run::{Progress, run};
use crate::scores::AnyScores;

/// An exponent, and the sums in units of that power of two: weights, discordant pairs, pairs tied in
/// one ranking, pairs tied in both.
type PyPairSums = (i32, u128, u128, u128, u128);

/// Weighted sums of pair counts over two matrices of rankings.
#[pyfunction]
#[pyo3(signature = (y_true, y_pred, weights, *, refuse_ties, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn sum_pairs<'py>(
    py: Python<'py>,
    y_true: AnyScores<'py>,
    y_pred: AnyScores<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    refuse_ties: bool,
    num_threads: usize,
) -> PyResult<Vec<PyPairSums>> {
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let (y_true, y_pred) = (y_true.as_rankings(), y_pred.as_rankings());
    let sums = run(py, num_threads, &Progress::NONE, |par| {
        label_ranking::sum_pairs(par, &*y_true, &*y_pred, weights, refuse_ties)
    })?;
    let tuples = sums
        .iter()
        .map(|(exponent, sums)| (exponent, sums.weight, sums.discordant, sums.tied_in_one, sums.tied_in_both));
    Ok(tuples.collect())
}
