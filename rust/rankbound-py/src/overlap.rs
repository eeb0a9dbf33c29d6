//! Agreement of ranked lists: see `rankbound_core::overlap`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rankbound_core::overlap::{TopLists, overlap};

use crate::run::{Progress, run};

type Items<'py> = PyReadonlyArray2<'py, i64>;
type Values<'py> = Bound<'py, PyArray1<f64>>;
type Scores<'py> = Option<PyReadonlyArray2<'py, f64>>;

/// Share of the top k that two rankings of each list have in common, and their rank-biased overlap.
#[pyfunction]
#[pyo3(signature = (a, b, *, a_scores, b_scores, k, persistence, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn overlap_lists<'py>(
    py: Python<'py>,
    a: Items<'py>,
    b: Items<'py>,
    a_scores: Scores<'py>,
    b_scores: Scores<'py>,
    k: usize,
    persistence: f64,
    num_threads: usize,
) -> PyResult<(Values<'py>, Values<'py>)> {
    let lists = [to_lists(&a, &a_scores)?, to_lists(&b, &b_scores)?];
    let n_lists = a.shape()[0];
    let (shared, rank_biased) =
        run(py, num_threads, &Progress::NONE, |par| overlap(par, lists, n_lists, k, persistence))?;
    Ok((shared.into_pyarray(py), rank_biased.into_pyarray(py)))
}

fn to_lists<'a>(items: &'a Items<'_>, scores: &'a Scores<'_>) -> PyResult<TopLists<'a>> {
    let width = items.shape()[1];
    let scores = scores.as_ref().map(|scores| scores.as_slice()).transpose()?;
    Ok(TopLists { items: items.as_slice()?, scores, width })
}
