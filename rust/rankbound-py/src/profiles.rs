//! Tie profiles of lists with any number of relevant items: see `rankbound_core::profile`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::aggregate;
use rankbound_core::input::{Masks, Targets};
use rankbound_core::profile::{self, ItemLists, ListRules, OpenTie, Profiles, ScoredTargets};

use crate::profile::{PyExclusion, exclusion, lend_exclusion, slice};
use crate::run::{InvalidParameterError, Progress, run, run_on};
use crate::scores::{AnyScores, with_any_scores};

/// Relevant items per list: row starts, items, grades if they are graded, and the number of items.
pub(crate) type PyTargets<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, Option<PyReadonlyArray1<'py, f64>>, usize);

/// Borrows targets from Python for the time of a call.
macro_rules! lend_targets {
    ($targets:expr) => {{
        let (starts, items, grades, n_items) = $targets;
        let grades = grades.as_ref().map($crate::profile::slice).transpose()?;
        ($crate::profile::slice(starts)?, $crate::profile::slice(items)?, grades, *n_items)
    }};
}

pub(crate) use lend_targets;

/// Tie profiles of many lists.
#[pyclass(frozen, name = "Profiles", module = "rankbound._core")]
pub(crate) struct PyProfiles {
    pub(crate) inner: Profiles,
}

type PyCounts<'py> = Bound<'py, PyArray1<u32>>;

#[pymethods]
impl PyProfiles {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Relevant items of each list.
    fn n_relevant<'py>(&self, py: Python<'py>) -> PyCounts<'py> {
        self.inner.n_relevant().to_vec().into_pyarray(py)
    }

    /// Where each list's groups end, and per group how many candidates score higher, how many tie
    /// and how many of those are relevant.
    fn groups<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<usize>>, PyCounts<'py>, PyCounts<'py>, PyCounts<'py>) {
        let (groups, ends) = self.inner.groups();
        let column = |of: fn(&profile::TieGroup) -> u32| groups.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
        let counts = (column(|group| group.better), column(|group| group.tied), column(|group| group.relevant));
        (ends.to_vec().into_pyarray(py), counts.0, counts.1, counts.2)
    }
}

/// The tie profiles of the rows of a score matrix, and how many relevant items are no candidates.
#[pyfunction]
#[pyo3(signature = (scores, targets, *, exclude, mask_neg_inf, drop_masked, num_threads, progress))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_scores<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    targets: PyTargets<'py>,
    exclude: Option<PyExclusion<'py>>,
    mask_neg_inf: bool,
    drop_masked: bool,
    num_threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(PyProfiles, u64)> {
    let (starts, items, grades, n_items) = lend_targets!(&targets);
    let exclude = lend_exclusion(exclude.as_ref())?;
    let (inner, n_masked) = with_any_scores!(scores, view => run_on(py, "scores", num_threads, &Progress {
        callable: progress,
        per_task: profile::lists_per_task(view.ncols()),
        total: view.nrows(),
    }, |par| {
        let targets = Targets::new(starts, items, grades, n_items)?;
        let masks = Masks { exclude: exclusion(exclude, view.dim())?, neg_inf: mask_neg_inf };
        profile::profile_scores(par, &view, &ScoredTargets { targets, masks, drop_masked })
    }))?;
    Ok((PyProfiles { inner }, n_masked))
}

/// What to do about an open tie, by its name.
pub(crate) fn parse_open_tie(name: &str) -> PyResult<OpenTie> {
    match name {
        "refuse" => Ok(OpenTie::Refuse),
        "worst" => Ok(OpenTie::Worst),
        "best" => Ok(OpenTie::Best),
        "as_listed" => Ok(OpenTie::AsListed),
        _ => Err(InvalidParameterError::new_err(format!("open_tie {name:?} is not known"))),
    }
}

/// Items in a type that needs no conversion.
#[derive(FromPyObject)]
pub(crate) enum AnyItems<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

/// The tie profiles of ranked lists, and how many depend on a tie that is open at the end.
#[pyfunction]
#[pyo3(signature = (items, scores, starts, lengths, targets, *, open_tie, cut_off, keep_first, check_scores, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_lists<'py>(
    py: Python<'py>,
    items: AnyItems<'py>,
    scores: Option<PyReadonlyArray1<'py, f64>>,
    starts: PyReadonlyArray1<'py, usize>,
    lengths: PyReadonlyArray1<'py, usize>,
    targets: PyTargets<'py>,
    open_tie: &str,
    cut_off: usize,
    keep_first: bool,
    check_scores: bool,
    num_threads: usize,
) -> PyResult<(PyProfiles, u64)> {
    let open_tie = parse_open_tie(open_tie)?;
    let (target_starts, target_items, grades, n_items) = lend_targets!(&targets);
    let scores = scores.as_ref().map(slice).transpose()?;
    let (starts, lengths) = (slice(&starts)?, slice(&lengths)?);
    macro_rules! profiles {
        ($items:expr) => {{
            let items = slice($items)?;
            run(py, num_threads, &Progress::NONE, |par| {
                let targets = Targets::new(target_starts, target_items, grades, n_items)?;
                let lists = ItemLists { items, scores, starts, lengths };
                profile::profile_lists(par, &lists, &targets, ListRules { open_tie, cut_off, keep_first, check_scores })
            })
        }};
    }
    let (inner, n_open) = match &items {
        AnyItems::I32(items) => profiles!(items)?,
        AnyItems::I64(items) => profiles!(items)?,
    };
    Ok((PyProfiles { inner }, n_open))
}

/// The two bases of fingerprints, and the fingerprint of some lists, to be joined with others.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn fingerprint(py: Python<'_>, targets: PyTargets<'_>) -> PyResult<([u64; 2], [u64; 2])> {
    let (starts, items, grades, n_items) = lend_targets!(&targets);
    run(py, 1, &Progress::NONE, |_| {
        Ok((aggregate::BASES, aggregate::fingerprint(&Targets::new(starts, items, grades, n_items)?)))
    })
}
