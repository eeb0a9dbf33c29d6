//! Sums and means that do not depend on order: see `rankbound_core::aggregate`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::aggregate::{self, GroupSums, LogMean};

use crate::run::to_py;

type Values<'py> = PyReadonlyArray1<'py, f64>;

/// The mean, rounded once; NaN for no values.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn exact_mean(py: Python<'_>, values: Values<'_>) -> PyResult<f64> {
    let values = values.as_slice()?;
    py.detach(|| aggregate::mean(values, "values")).map_err(|error| to_py(&error))
}

/// The logarithm of the mean of the exponentials; NaN for no values.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn exact_log_mean(logarithms: Values<'_>) -> PyResult<f64> {
    let mut mean = LogMean::default();
    let logarithms = logarithms.as_slice()?;
    logarithms.iter().for_each(|&log| mean.add(log));
    Ok(mean.log_mean(logarithms.len() as u64))
}

/// The sum, rounded once.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn exact_sum(py: Python<'_>, values: Values<'_>) -> PyResult<f64> {
    let values = values.as_slice()?;
    py.detach(|| aggregate::sum(values, "values")).map_err(|error| to_py(&error))
}

type PyGroups<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>);

/// Sum, mean and number of the values of each group.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn group_sums<'py>(
    py: Python<'py>,
    values: Values<'py>,
    codes: PyReadonlyArray1<'py, u32>,
    n_groups: usize,
) -> PyResult<PyGroups<'py>> {
    let (values, codes) = (values.as_slice()?, codes.as_slice()?);
    let (sums, means, counts) = py
        .detach(|| {
            let groups = GroupSums::new(values, codes, n_groups)?;
            Ok((groups.sums(), groups.means(), groups.counts().to_vec()))
        })
        .map_err(|error| to_py(&error))?;
    Ok((sums.into_pyarray(py), means.into_pyarray(py), counts.into_pyarray(py)))
}

/// Entropy in nats of the shares of an exposure vector; NaN if nothing is exposed.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn exposure_entropy(py: Python<'_>, exposure: Values<'_>) -> PyResult<f64> {
    let exposure = exposure.as_slice()?;
    Ok(py.detach(|| aggregate::entropy(exposure)))
}

/// Gini coefficient of an exposure vector; NaN if nothing is exposed.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn exposure_gini(py: Python<'_>, exposure: Values<'_>) -> PyResult<f64> {
    let exposure = exposure.as_slice()?;
    Ok(py.detach(|| aggregate::gini(exposure)))
}
