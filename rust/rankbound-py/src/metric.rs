//! Metrics: see `rankbound_core::metric`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::aggregate::ListSums;
use rankbound_core::metric::list::{self, Discount, Gain, HitDenominator, ListMetric};
use rankbound_core::metric::{self, RankWeights, Spread};
use rankbound_core::profile::Placement;

use crate::profiles::PyProfiles;
use crate::run::{InvalidParameterError, Progress, run, to_py};

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

/// A metric of lists: its family, cut-off, gain, discount and the number it needs, if any.
#[derive(FromPyObject)]
pub(crate) struct PyListMetric {
    family: String,
    k: Option<usize>,
    gain: String,
    discount: String,
    parameter: f64,
}

impl PyListMetric {
    fn to_core(&self) -> PyResult<ListMetric> {
        let unknown = |what: &str, name: &str| InvalidParameterError::new_err(format!("{what} {name:?} is not known"));
        let gain = match self.gain.as_str() {
            "binary" => Gain::Binary,
            "linear" => Gain::Linear,
            "exp2" => Gain::Exp2,
            other => return Err(unknown("gain", other)),
        };
        let discount = match self.discount.as_str() {
            "log2" => Discount::Log2,
            "jk2002" => Discount::Jk2002,
            other => return Err(unknown("discount", other)),
        };
        let (k, parameter) = (self.k, self.parameter);
        let hits = |denominator| ListMetric::Hits { k, denominator };
        Ok(match self.family.as_str() {
            "hit_rate" => ListMetric::HitRate { k },
            "precision" => hits(HitDenominator::CutOff),
            "recall" => hits(HitDenominator::Relevant),
            "calibrated_recall" => hits(HitDenominator::Smaller),
            "f1" => hits(HitDenominator::Mean),
            "r_precision" => ListMetric::RPrecision,
            "mrr" => ListMetric::ReciprocalRank { k },
            "map" => ListMetric::AveragePrecision { k, capped: true },
            "map_relevant" => ListMetric::AveragePrecision { k, capped: false },
            "dcg" => ListMetric::Dcg { k, gain, discount, normalised: false },
            "ndcg" => ListMetric::Dcg { k, gain, discount, normalised: true },
            "rbp" => ListMetric::Rbp { k, gain, patience: parameter },
            "log_rbp" => ListMetric::LogRbp { k, patience: parameter },
            "err" => ListMetric::Err { k, max_grade: parameter },
            other => return Err(unknown("metric", other)),
        })
    }
}

/// What makes a pickled object again, and its argument.
type PyReduced<'py> = (Bound<'py, PyAny>, (Vec<Bound<'py, PyArray1<u64>>>,));

/// What the values of metrics add up to; adding two gives the same bits in any order.
#[pyclass(frozen, name = "ListSums", module = "rankbound._core")]
pub(crate) struct PyListSums {
    inner: Vec<ListSums>,
}

#[pymethods]
impl PyListSums {
    /// The sums of both, which are of the same metrics.
    fn merge(&self, other: &Self) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        for (mine, theirs) in inner.iter_mut().zip(&other.inner) {
            mine.merge(theirs).map_err(|error| to_py(&error))?;
        }
        Ok(Self { inner })
    }

    /// The sums as words, one array per metric, the same for every split of the lists.
    fn store<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<u64>>> {
        self.inner.iter().map(|sums| sums.store().into_pyarray(py)).collect()
    }

    /// The sums that `store` returned.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn restore(stored: Vec<PyReadonlyArray1<'_, u64>>) -> PyResult<Self> {
        let restore =
            |words: &PyReadonlyArray1<'_, u64>| ListSums::restore(words.as_slice()?).map_err(|error| to_py(&error));
        Ok(Self { inner: stored.iter().map(restore).collect::<PyResult<_>>()? })
    }

    /// How copies and pickles are made.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PyReduced<'py>> {
        Ok((py.get_type::<Self>().getattr("restore")?, (self.store(py),)))
    }

    /// Per metric: number of lists, mean, mean of the best and of the worst case, standard deviation
    /// of the mean over tie-breaks, and the share of lists with a tie at the cut-off.
    fn means(&self) -> Vec<(u64, f64, f64, f64, Option<f64>, f64)> {
        let means = self.inner.iter().map(ListSums::means);
        means.map(|of| (of.n_lists, of.mean, of.best, of.worst, of.sd, of.share_tied_at_cut)).collect()
    }
}

/// Evaluates every metric of every list: the values per metric, NaN for a list without relevant
/// items, and their sums.
#[pyfunction]
#[pyo3(signature = (profiles, metrics, *, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn evaluate_lists<'py>(
    py: Python<'py>,
    profiles: &PyProfiles,
    metrics: Vec<PyListMetric>,
    num_threads: usize,
) -> PyResult<(Vec<Bound<'py, PyArray1<f64>>>, PyListSums)> {
    let metrics = metrics.iter().map(PyListMetric::to_core).collect::<PyResult<Vec<_>>>()?;
    let found = run(py, num_threads, &Progress::NONE, |par| list::evaluate(par, &profiles.inner, &metrics))?;
    let values = found.values.into_iter().map(|values| values.into_pyarray(py)).collect();
    Ok((values, PyListSums { inner: found.sums }))
}
