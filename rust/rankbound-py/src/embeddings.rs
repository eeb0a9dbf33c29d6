//! Tie profiles of embeddings: see `rankbound_core::profile`.

use half::f16;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rankbound_core::input::{Embeddings, Similarity, Vectors};
use rankbound_core::profile;

use crate::profile::{PyExclusion, slice};
use crate::profiles::{PyProfiles, PyTargets};
use crate::run::{InvalidParameterError, Progress, run};

/// A lent matrix with one vector a row.
#[derive(FromPyObject)]
pub(crate) enum AnyVectors<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F16(PyReadonlyArray2<'py, f16>),
}

impl AnyVectors<'_> {
    fn lend(&self) -> Vectors<'_> {
        match self {
            Self::F32(array) => Vectors::F32(array.as_array()),
            Self::F16(array) => Vectors::F16(array.as_array()),
        }
    }
}

/// The tie profiles of queries over all items, and how many relevant items are no candidates.
#[pyfunction]
#[pyo3(signature = (queries, items, targets, *, item_bias, exclude, similarity, drop_masked, num_threads, progress))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_embeddings<'py>(
    py: Python<'py>,
    queries: AnyVectors<'py>,
    items: AnyVectors<'py>,
    targets: PyTargets<'py>,
    item_bias: Option<PyReadonlyArray1<'py, f32>>,
    exclude: Option<PyExclusion<'py>>,
    similarity: &str,
    drop_masked: bool,
    num_threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(PyProfiles, u64)> {
    let similarity = match similarity {
        "inner" => Similarity::Inner,
        "cosine" => Similarity::Cosine,
        "l2" => Similarity::L2,
        _ => return Err(InvalidParameterError::new_err(format!("similarity {similarity:?} is not known"))),
    };
    let targets = targets.lend()?;
    let exclude = exclude.as_ref().map(PyExclusion::lend).transpose()?;
    let item_bias = item_bias.as_ref().map(slice).transpose()?;
    let embeddings = Embeddings { queries: queries.lend(), items: items.lend(), item_bias, similarity };
    let (n_queries, n_items) = (embeddings.queries.dim().0, embeddings.items.dim().0);
    // The core counts queries, not tasks.
    let progress = Progress { callable: progress, per_task: 1, total: n_queries };
    let (inner, n_masked) = run(py, num_threads, &progress, |par| {
        let targets = targets.to_core()?;
        let exclude = exclude.as_ref().map(|exclude| exclude.to_core(n_queries, n_items)).transpose()?;
        profile::profile_embeddings(par, embeddings, targets, exclude, drop_masked)
    })?;
    Ok((PyProfiles { inner }, n_masked))
}
