//! Scans of score matrices: see `rankbound_core::profile`.

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rankbound_core::aggregate::CatalogueSums;
use rankbound_core::input::{Exclusion, Masks};
use rankbound_core::profile::{self, Grading, Popularity, Ranker, ScanOptions};
use rankbound_core::{Error, Result};

use crate::adjust::PyTransform;
use crate::run::{Progress, run_on};
use crate::scores::{AnyScores, with_any_scores};

/// Fixed scores per segment and class, and the segment of each list.
pub(crate) type PyPopularity<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, u32>);

/// Excluded columns: those of each list as row starts and columns, as in a CSR matrix, and matrices in
/// the shape of the scores, not 0 where one is excluded.
#[derive(FromPyObject)]
pub(crate) struct PyExclusion<'py> {
    listed: Option<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>)>,
    marked: Vec<PyReadonlyArray2<'py, u8>>,
}

impl PyExclusion<'_> {
    /// Borrows the arrays for the time of a call.
    pub(crate) fn lend(&self) -> PyResult<LentExclusion<'_>> {
        let listed = self.listed.as_ref().map(|(starts, columns)| Ok::<_, PyErr>((slice(starts)?, slice(columns)?)));
        let marked = self.marked.iter().map(PyReadonlyArray2::as_array).collect();
        Ok(LentExclusion { listed: listed.transpose()?, marked })
    }
}

/// The arrays of an exclusion.
pub(crate) struct LentExclusion<'a> {
    listed: Option<(&'a [i64], &'a [u32])>,
    marked: Vec<ArrayView2<'a, u8>>,
}

impl<'a> LentExclusion<'a> {
    /// The exclusion of columns from `n_lists` lists, checked.
    pub(crate) fn to_core(&'a self, n_lists: usize, n_classes: usize) -> Result<Exclusion<'a>> {
        let exclusion = match self.listed {
            Some((starts, columns)) => Exclusion::new(starts, columns, n_lists, n_classes)?,
            None => Exclusion::nothing(n_classes),
        };
        Ok(exclusion.with_marks(&self.marked))
    }
}

/// Borrows one-dimensional arrays; numpy hands them over contiguous.
pub(crate) fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    Ok(array.as_slice()?)
}

/// Expected exposure and probability of having been shown, per class.
type PyExposure<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What a scan finds for one ranker.
#[pyclass(frozen, get_all, name = "ScanBlock", module = "rankbound._core")]
pub(crate) struct PyScanBlock {
    /// Candidates above each list's truth.
    better: Py<PyArray1<u32>>,
    /// Candidates that tie with it, itself included; 0 if it is no candidate.
    tied: Py<PyArray1<u32>>,
    /// Expected exposure per class.
    exposure: Py<PyArray1<f64>>,
    /// Probability of having been shown at least once, per class.
    seen: Py<PyArray1<f64>>,
    /// Lists whose top k depends on the order of equal scores.
    n_tied_at_cut: u64,
    /// Disparity of the exposure: mean over the lists that count for the catalogue.
    disparity: f64,
}

/// What a scan finds.
#[pyclass(frozen, get_all, name = "Scan", module = "rankbound._core")]
pub(crate) struct PyScan {
    /// One block per transform, then one per popularity.
    blocks: Vec<Py<PyScanBlock>>,
    /// Candidates per list.
    n_candidates: Py<PyArray1<u32>>,
    /// Exposure per class of a ranker without preference.
    uniform_exposure: Py<PyArray1<f64>>,
    /// Probability of having been shown by it, per class.
    uniform_seen: Py<PyArray1<f64>>,
    /// Lists whose truth is masked.
    n_masked_truth: u64,
}

fn exposure<'py>(py: Python<'py>, sums: &CatalogueSums) -> PyExposure<'py> {
    let exposure = sums.exposure();
    (exposure.expected.into_pyarray(py), exposure.seen.into_pyarray(py))
}

/// Reads each graded row once; every transform of it and every popularity ranks its candidates.
#[pyfunction]
#[pyo3(signature = (scores, rows, truths, transforms, popularity, *, k, exclude, mask_neg_inf, exposed, num_threads, progress))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn scan_scores<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    rows: PyReadonlyArray1<'py, i64>,
    truths: PyReadonlyArray1<'py, i64>,
    transforms: Vec<PyRef<'py, PyTransform>>,
    popularity: Vec<PyPopularity<'py>>,
    k: usize,
    exclude: Option<PyExclusion<'py>>,
    mask_neg_inf: bool,
    exposed: Option<PyReadonlyArray1<'py, bool>>,
    num_threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<PyScan> {
    let models: Vec<_> = transforms.iter().map(|transform| transform.inner.clone()).collect();
    let fixed = popularity
        .iter()
        .map(|(table, segments)| Ok((table.as_slice()?, table.as_array().ncols(), segments.as_array().to_vec())));
    let fixed = fixed.collect::<PyResult<Vec<_>>>()?;
    let (rows, truths) = (slice(&rows)?, slice(&truths)?);
    let exclude = exclude.as_ref().map(PyExclusion::lend).transpose()?;
    let exposed = exposed.as_ref().map(slice).transpose()?;
    let scan = with_any_scores!(scores, view => run_on(py, "proba", num_threads, &Progress {
        callable: progress,
        per_task: profile::lists_per_task(view.ncols()),
        total: rows.len(),
    }, |par| {
        let rows = rows.iter().map(|&row| index(row)).collect::<Result<Vec<_>>>()?;
        let fixed = fixed.iter().map(|(scores, n_classes, segments)| {
            Popularity::new(scores, *n_classes, k, segments.clone()).map(Ranker::Popularity)
        });
        let models = models.iter().map(|transform| Ok(Ranker::Model(transform.clone())));
        let rankers = models.chain(fixed).collect::<Result<Vec<_>>>()?;
        let truths: Vec<_> = truths.iter().map(|&truth| u32::try_from(truth).ok()).collect();
        let exclude = exclude.as_ref().map(|exclude| exclude.to_core(rows.len(), view.ncols())).transpose()?;
        let options = ScanOptions { k, masks: Masks { exclude, neg_inf: mask_neg_inf } };
        profile::scan(par, &view, &Grading { rows: &rows, truths: &truths, exposed }, &rankers, &options)
    }))?;
    let n_exposed = exposed.map_or(rows.len(), |exposed| exposed.iter().filter(|exposed| **exposed).count());
    let blocks = scan.blocks.into_iter().map(|block| {
        let (better, tied): (Vec<u32>, Vec<u32>) = block.placements.iter().map(|at| (at.better, at.tied)).unzip();
        let (exposure, seen) = exposure(py, &block.catalogue);
        let block = PyScanBlock {
            better: better.into_pyarray(py).unbind(),
            tied: tied.into_pyarray(py).unbind(),
            exposure: exposure.unbind(),
            seen: seen.unbind(),
            n_tied_at_cut: block.n_tied_at_cut,
            disparity: block.disparity.mean(n_exposed as u64),
        };
        Py::new(py, block)
    });
    let (uniform_exposure, uniform_seen) = exposure(py, &scan.uniform);
    Ok(PyScan {
        blocks: blocks.collect::<PyResult<_>>()?,
        n_candidates: scan.n_candidates.into_pyarray(py).unbind(),
        uniform_exposure: uniform_exposure.unbind(),
        uniform_seen: uniform_seen.unbind(),
        n_masked_truth: scan.n_masked_truth,
    })
}

fn index(row: i64) -> Result<usize> {
    usize::try_from(row).map_err(|_| Error::Shape(format!("row {row} is to be graded, but rows count from 0")))
}

type PyCodes<'py> = Bound<'py, PyArray1<u32>>;

/// The best columns of each row, row after row, and how many each row has.
#[pyfunction]
#[pyo3(signature = (scores, *, k, exclude, mask_neg_inf, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn top_columns<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    k: usize,
    exclude: Option<PyExclusion<'py>>,
    mask_neg_inf: bool,
    num_threads: usize,
) -> PyResult<(PyCodes<'py>, PyCodes<'py>)> {
    let exclude = exclude.as_ref().map(PyExclusion::lend).transpose()?;
    let top = with_any_scores!(scores, view => run_on(py, "proba", num_threads, &Progress::NONE, |par| {
        let exclude = exclude.as_ref().map(|exclude| exclude.to_core(view.nrows(), view.ncols())).transpose()?;
        profile::top_columns(par, &view, k, &Masks { exclude, neg_inf: mask_neg_inf })
    }))?;
    Ok((top.columns.into_pyarray(py), top.counts.into_pyarray(py)))
}
