//! Metrics of one truth per list: see `rankbound_core::metric`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::metric::{self, RankWeights, Spread};
use rankbound_core::profile::Placement;

use crate::run::InvalidParameterError;

/// A metric and its cut-off.
type Metric = (String, usize);

fn weights((name, k): &Metric, n_classes: usize) -> PyResult<RankWeights> {
    match name.as_str() {
        "hit" => Ok(RankWeights::hit(*k, n_classes)),
        "mrr" => Ok(RankWeights::reciprocal_rank(*k, n_classes)),
        "ndcg" => Ok(RankWeights::ndcg(*k, n_classes)),
        _ => Err(InvalidParameterError::new_err(format!("metric {name:?} is none of 'hit', 'mrr', 'ndcg'"))),
    }
}

fn placements(better: &PyReadonlyArray1<'_, u32>, tied: &PyReadonlyArray1<'_, u32>) -> Vec<Placement> {
    let counts = better.as_array().into_iter().copied().zip(tied.as_array().into_iter().copied());
    counts.map(|(better, tied)| Placement { better, tied }).collect()
}

/// The expected value of each metric for each list.
#[pyfunction]
#[pyo3(signature = (better, tied, metrics, *, n_classes))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn list_values<'py>(
    py: Python<'py>,
    better: PyReadonlyArray1<'py, u32>,
    tied: PyReadonlyArray1<'py, u32>,
    metrics: Vec<Metric>,
    n_classes: usize,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let placements = placements(&better, &tied);
    let tables = metrics.iter().map(|metric| weights(metric, n_classes)).collect::<PyResult<Vec<_>>>()?;
    let values: Vec<Vec<f64>> = py.detach(|| tables.iter().map(|table| metric::values(table, &placements)).collect());
    Ok(values.into_iter().map(|values| values.into_pyarray(py)).collect())
}

/// Least and greatest mean over tie-breaks, and the standard deviation of the mean, per metric.
#[pyfunction]
#[pyo3(signature = (better, tied, metrics, *, n_classes, served))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn tie_spread(
    py: Python<'_>,
    better: PyReadonlyArray1<'_, u32>,
    tied: PyReadonlyArray1<'_, u32>,
    metrics: Vec<Metric>,
    n_classes: usize,
    served: Option<PyReadonlyArray1<'_, u32>>,
) -> PyResult<Vec<(f64, f64, f64)>> {
    let placements = placements(&better, &tied);
    let served = served.map(|served| served.as_array().to_vec());
    let tables = metrics.iter().map(|metric| weights(metric, n_classes)).collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| {
        let depth = metrics.iter().map(|(_, k)| *k).max().unwrap_or(0);
        let spread = Spread::new(&placements, served.as_deref(), depth);
        let spreads = tables.iter().map(|table| spread.of(table));
        spreads.map(|spread| (spread.min, spread.max, spread.sd)).collect()
    }))
}
