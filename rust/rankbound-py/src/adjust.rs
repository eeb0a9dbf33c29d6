//! Transforms of scores: see `rankbound_core::adjust`.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::adjust::{self, Knots, Transform};
use rankbound_core::{Error, Result};

use crate::run::{Progress, run_on, to_py};
use crate::scores::{AnyScores, with_any_scores};

/// A frozen rewriting of score rows.
#[pyclass(frozen, name = "Transform", module = "rankbound._core")]
pub(crate) struct PyTransform {
    pub(crate) inner: Transform,
}

#[pymethods]
impl PyTransform {
    /// The scores themselves.
    #[staticmethod]
    fn identity() -> Self {
        Self { inner: Transform::Identity }
    }

    /// Shrinkage, then the popularity discount.
    #[staticmethod]
    #[pyo3(signature = (counts, n_labelled, dead, *, popularity_discount, shrinkage_strength))]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn rates(
        counts: PyReadonlyArray1<'_, i64>,
        n_labelled: u64,
        dead: PyReadonlyArray1<'_, bool>,
        popularity_discount: f64,
        shrinkage_strength: f64,
    ) -> PyResult<Self> {
        let build = || {
            let counts: Vec<u64> =
                counts.as_array().iter().map(|count| unsigned("counts", *count)).collect::<Result<_>>()?;
            Transform::rates(&counts, n_labelled, &dead.as_array().to_vec(), popularity_discount, shrinkage_strength)
        };
        build().map(|inner| Self { inner }).map_err(|error| to_py(&error))
    }

    /// The percentile of each score among the reference scores of its class.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn percentile(
        values: PyReadonlyArray1<'_, f64>,
        less: PyReadonlyArray1<'_, u32>,
        equal: PyReadonlyArray1<'_, u32>,
        offsets: PyReadonlyArray1<'_, i64>,
        dead: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<Self> {
        let build = || {
            let offsets = offsets
                .as_array()
                .iter()
                .map(|offset| Ok(usize::try_from(unsigned("offsets", *offset)?).unwrap_or(usize::MAX)))
                .collect::<Result<_>>()?;
            let (values, dead) = (values.as_array().to_vec(), dead.as_array().to_vec());
            Knots::new(values, less.as_array().to_vec(), equal.as_array().to_vec(), offsets, dead)
        };
        build().map(|knots| Self { inner: Transform::Percentile(knots) }).map_err(|error| to_py(&error))
    }
}

fn unsigned(name: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::Parameter(format!("{name} must not be negative, got {value}")))
}

/// The transformed matrix in float64.
#[pyfunction]
#[pyo3(signature = (scores, transform, *, mask_neg_inf, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn transform_scores<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    transform: &Bound<'py, PyTransform>,
    mask_neg_inf: bool,
    num_threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let transform = &transform.get().inner;
    let matrix = with_any_scores!(scores, view => {
        run_on(py, "proba", num_threads, &Progress::NONE, |par| adjust::transform_matrix(par, transform, &view, mask_neg_inf))
    })?;
    Ok(matrix.into_pyarray(py))
}

type KnotArrays<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

/// Percentile knots of each column: values, less, equal, offsets and dead flags.
#[pyfunction]
#[pyo3(signature = (reference, *, n_knots, mask_neg_inf, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn fit_knots<'py>(
    py: Python<'py>,
    reference: AnyScores<'py>,
    n_knots: usize,
    mask_neg_inf: bool,
    num_threads: usize,
) -> PyResult<KnotArrays<'py>> {
    let knots = with_any_scores!(reference, view => {
        run_on(py, "proba", num_threads, &Progress::NONE, |par| adjust::fit_knots(par, &view, n_knots, mask_neg_inf))
    })?;
    let (values, less, equal, offsets, dead) = knots.into_parts();
    let offsets: Vec<i64> = offsets.into_iter().map(|offset| i64::try_from(offset).unwrap_or(i64::MAX)).collect();
    Ok((
        values.into_pyarray(py),
        less.into_pyarray(py),
        equal.into_pyarray(py),
        offsets.into_pyarray(py),
        dead.into_pyarray(py),
    ))
}

/// Which columns are identically 0.
#[pyfunction]
#[pyo3(signature = (reference, *, mask_neg_inf, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn dead_classes<'py>(
    py: Python<'py>,
    reference: AnyScores<'py>,
    mask_neg_inf: bool,
    num_threads: usize,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let dead = with_any_scores!(reference, view => {
        run_on(py, "proba", num_threads, &Progress::NONE, |par| adjust::dead_classes(par, &view, mask_neg_inf))
    })?;
    Ok(dead.into_pyarray(py))
}
