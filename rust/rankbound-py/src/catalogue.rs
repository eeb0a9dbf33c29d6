//! Catalogue metrics: see `rankbound_core::catalogue`.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rankbound_core::aggregate::{ExposureSums, GroupSums};
use rankbound_core::catalogue::{self, Diversity, Found, ItemWeights, ListMeasure, Request, TopRules, Unexpected};
use rankbound_core::input::Masks;
use rankbound_core::metric::RankWeights;
use rankbound_core::profile::ItemLists;

use crate::profile::{PyExclusion, slice};
use crate::profiles::{AnyItems, LentTargets, PyTargets};
use crate::run::{InvalidParameterError, Progress, run_on, to_py};
use crate::runs::AnyValues;
use crate::scores::{AnyScores, with_any_scores};

type Values<'py> = PyReadonlyArray1<'py, f64>;

/// Rank weights by name, with the patience that only some need.
type PyRankWeights = (String, f64);

fn rank_weights((name, patience): &PyRankWeights, k: usize, n_items: usize) -> PyResult<RankWeights> {
    match name.as_str() {
        "top" => Ok(RankWeights::hit(k, n_items)),
        "log2" => Ok(RankWeights::ndcg(k, n_items)),
        "geometric" => Ok(RankWeights::geometric(*patience, k, n_items)),
        _ => Err(InvalidParameterError::new_err(format!("weights {name:?} are not known"))),
    }
}

/// A measure of lists, made ready once.
#[pyclass(frozen, name = "ListMeasure", module = "rankbound._core")]
pub(crate) struct PyListMeasure {
    inner: ListMeasure,
}

#[pymethods]
impl PyListMeasure {
    /// Expected mean of a number per item.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn mean_weight(weights: Values<'_>) -> PyResult<Self> {
        let weights = ItemWeights::new(weights.as_slice()?).map_err(|error| to_py(&error))?;
        Ok(Self { inner: ListMeasure::MeanWeight(weights) })
    }

    /// Expected mean cosine distance between two items.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn cosine_diversity(features: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let diversity = Diversity::cosine(features.as_slice()?, features.shape()[1]).map_err(|error| to_py(&error))?;
        Ok(Self { inner: ListMeasure::Diversity(diversity) })
    }

    /// Expected mean of given distances.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn distance_diversity(distances: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let diversity = Diversity::distances(distances.as_slice()?.to_vec(), distances.shape()[0]);
        Ok(Self { inner: ListMeasure::Diversity(diversity.map_err(|error| to_py(&error))?) })
    }

    /// Expected share of relevant items that the most popular list would not show.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn serendipity(popularity: Values<'_>, k: usize) -> PyResult<Self> {
        let unexpected = Unexpected::new(popularity.as_slice()?, k).map_err(|error| to_py(&error))?;
        Ok(Self { inner: ListMeasure::Serendipity(unexpected) })
    }

    /// Loss, disparity and relevance of the exposure.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn expected_exposure(weights: PyRankWeights, k: usize, n_items: usize) -> PyResult<Self> {
        Ok(Self { inner: ListMeasure::ExpectedExposure { weights: rank_weights(&weights, k, n_items)?, n_items } })
    }
}

/// Exposure sums as arrays: lists that certainly show an item, and two sums of two limbs each.
type PyStoredSums<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray2<i64>>);

/// Exposure of the items; adding two gives the same bits in any order.
#[pyclass(frozen, name = "ExposureSums", module = "rankbound._core")]
pub(crate) struct PyExposureSums {
    inner: ExposureSums,
}

#[pymethods]
impl PyExposureSums {
    /// The sums of both.
    fn merge(&self, other: &Self) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        inner.merge(&other.inner).map_err(|error| to_py(&error))?;
        Ok(Self { inner })
    }

    /// Expected exposure and probability of having been shown, per item.
    fn exposure<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let exposure = self.inner.exposure();
        (exposure.expected.into_pyarray(py), exposure.seen.into_pyarray(py))
    }

    /// The sums as arrays, the same for every split of the lists.
    fn store<'py>(&self, py: Python<'py>) -> PyResult<PyStoredSums<'py>> {
        let (certain, sums) = self.inner.store().map_err(|error| to_py(&error))?;
        let rows: Vec<Vec<i64>> = sums.iter().map(|sums| sums.to_vec()).collect();
        Ok((certain.into_pyarray(py), PyArray2::from_vec2(py, &rows)?))
    }

    /// The sums that `store` returned.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn restore(certain: PyReadonlyArray1<'_, u64>, sums: PyReadonlyArray2<'_, i64>) -> PyResult<Self> {
        let (rows, rest) = sums.as_slice()?.as_chunks::<4>();
        if !rest.is_empty() || sums.shape()[1] != 4 {
            return Err(InvalidParameterError::new_err("stored sums must have four columns"));
        }
        let inner = ExposureSums::restore(certain.as_slice()?, rows).map_err(|error| to_py(&error))?;
        Ok(Self { inner })
    }

    /// How copies and pickles are made.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, PyStoredSums<'py>)> {
        Ok((py.get_type::<Self>().getattr("restore")?, self.store(py)?))
    }
}

/// What makes pickled group sums again, and its argument.
type PyReduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyArray1<u64>>,));

/// Sums by group; adding two gives the same bits in any order.
#[pyclass(frozen, name = "GroupSums", module = "rankbound._core")]
pub(crate) struct PyGroupSums {
    inner: GroupSums,
}

#[pymethods]
impl PyGroupSums {
    /// Sums of values by the group of each.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn of(values: Values<'_>, codes: PyReadonlyArray1<'_, u32>, n_groups: usize) -> PyResult<Self> {
        let inner = GroupSums::new(values.as_slice()?, codes.as_slice()?, n_groups).map_err(|error| to_py(&error))?;
        Ok(Self { inner })
    }

    /// The sums of both.
    fn merge(&self, other: &Self) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        inner.merge(&other.inner).map_err(|error| to_py(&error))?;
        Ok(Self { inner })
    }

    /// The sums as words, the same for every split of the values.
    fn store<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.inner.store().into_pyarray(py)
    }

    /// The sums that `store` returned.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn restore(stored: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        Ok(Self { inner: GroupSums::restore(stored.as_slice()?).map_err(|error| to_py(&error))? })
    }

    /// How copies and pickles are made.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PyReduced<'py>> {
        Ok((py.get_type::<Self>().getattr("restore")?, (self.store(py),)))
    }

    /// The mean of each group, NaN for an empty one, and its number of values.
    fn means<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>) {
        (self.inner.means().into_pyarray(py), self.inner.counts().to_vec().into_pyarray(py))
    }

    /// The mean of all values of the groups that are marked; NaN for none.
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn mean_of(&self, marked: PyReadonlyArray1<'_, bool>) -> PyResult<f64> {
        self.inner.mean_of(marked.as_slice()?).map_err(|error| to_py(&error))
    }
}

/// Values per measure, exposure, hits per item, and how many lists have a tie at the cut.
type PyFound<'py> = (Vec<Bound<'py, PyArray1<f64>>>, PyExposureSums, PyGroupSums, u64);

fn found(py: Python<'_>, found: Found) -> PyFound<'_> {
    let values = found.values.into_iter().map(|values| values.into_pyarray(py)).collect();
    (values, PyExposureSums { inner: found.exposure }, PyGroupSums { inner: found.class_hits }, found.n_tied_at_cut)
}

/// What both kinds of input are measured by.
#[derive(FromPyObject)]
pub(crate) struct PyRequest<'py> {
    k: usize,
    rows: PyReadonlyArray1<'py, u64>,
    measures: Vec<Py<PyListMeasure>>,
    targets: Option<PyTargets<'py>>,
    weights: Option<PyRankWeights>,
    class_hits: bool,
    drop_masked: bool,
}

/// Lends a request to the core under a name, for an input of `$n_items`.
macro_rules! with_request {
    ($given:expr, $n_items:expr, $request:ident => $body:expr) => {{
        let given = &$given;
        let rows: Vec<usize> = slice(&given.rows)?.iter().map(|&row| usize::try_from(row)).collect::<Result<_, _>>()?;
        let measures: Vec<&ListMeasure> = given.measures.iter().map(|measure| &measure.get().inner).collect();
        let table = given.weights.as_ref().map(|weights| rank_weights(weights, given.k, $n_items)).transpose()?;
        let lent = given.targets.as_ref().map(PyTargets::lend).transpose()?;
        let targets = lent.map(LentTargets::to_core).transpose().map_err(|error| to_py(&error))?;
        let (k, class_hits, drop_masked) = (given.k, given.class_hits, given.drop_masked);
        let $request = Request {
            k,
            rows: &rows,
            measures: &measures,
            targets,
            rank_weights: table.as_ref(),
            class_hits,
            drop_masked,
        };
        $body
    }};
}

/// Measures the top k of rows of a score matrix, which the caller knows by `name`.
#[pyfunction]
#[pyo3(signature = (scores, request, *, name, exclude, mask_neg_inf, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn catalogue_scores<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    request: PyRequest<'py>,
    name: &str,
    exclude: Option<PyExclusion<'py>>,
    mask_neg_inf: bool,
    num_threads: usize,
) -> PyResult<PyFound<'py>> {
    let exclude = exclude.as_ref().map(PyExclusion::lend).transpose()?;
    let result = with_any_scores!(scores, view => with_request!(request, view.ncols(), request => {
        run_on(py, name, num_threads, &Progress::NONE, |par| {
            let exclude = exclude.as_ref().map(|exclude| exclude.to_core(view.nrows(), view.ncols())).transpose()?;
            catalogue::scan_scores(par, &view, &Masks { exclude, neg_inf: mask_neg_inf }, &request)
        })?
    }));
    Ok(found(py, result))
}

/// Measures the top k of ranked lists, which the caller knows by `name`.
#[pyfunction]
#[pyo3(signature = (items, scores, starts, lengths, request, *, name, n_items, as_listed, keep_first, check_scores, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn catalogue_lists<'py>(
    py: Python<'py>,
    items: AnyItems<'py>,
    scores: Option<AnyValues<'py>>,
    starts: PyReadonlyArray1<'py, usize>,
    lengths: PyReadonlyArray1<'py, usize>,
    request: PyRequest<'py>,
    name: &str,
    n_items: usize,
    as_listed: bool,
    keep_first: bool,
    check_scores: bool,
    num_threads: usize,
) -> PyResult<PyFound<'py>> {
    let scores = scores.as_ref().map(AnyValues::lend).transpose()?;
    let (starts, lengths) = (slice(&starts)?, slice(&lengths)?);
    let rules = TopRules { k: request.k, as_listed, keep_first, check_scores };
    let result = with_request!(request, n_items, request => {
        macro_rules! scan {
            ($items:expr) => {{
                let items = slice($items)?;
                run_on(py, name, num_threads, &Progress::NONE, |par| {
                    let lists = ItemLists { items, scores, starts, lengths };
                    catalogue::scan_lists(par, &lists, n_items, rules, &request)
                })?
            }};
        }
        match &items {
            AnyItems::I32(items) => scan!(items),
            AnyItems::I64(items) => scan!(items),
        }
    });
    Ok(found(py, result))
}
