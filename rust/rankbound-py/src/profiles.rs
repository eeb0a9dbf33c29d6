//! Tie profiles of lists with any number of relevant items: see `rankbound_core::profile`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::Result;
use rankbound_core::aggregate;
use rankbound_core::input::{Masks, Targets};
use rankbound_core::profile::{self, ItemLists, ListRules, OpenTie, Profiles, ScoredTargets};

use crate::profile::{PyExclusion, slice};
use crate::run::{InvalidParameterError, Progress, run, run_on};
use crate::runs::AnyValues;
use crate::scores::{AnyScores, with_any_scores};

/// Relevant items per list.
#[derive(FromPyObject)]
pub(crate) struct PyTargets<'py> {
    starts: PyReadonlyArray1<'py, i64>,
    items: PyReadonlyArray1<'py, u32>,
    grades: Option<PyReadonlyArray1<'py, f64>>,
    n_items: usize,
    keeps_items: bool,
}

impl PyTargets<'_> {
    /// Borrows the arrays for the time of a call.
    pub(crate) fn lend(&self) -> PyResult<LentTargets<'_>> {
        let grades = self.grades.as_ref().map(slice).transpose()?;
        let Self { n_items, keeps_items, .. } = *self;
        Ok(LentTargets { starts: slice(&self.starts)?, items: slice(&self.items)?, grades, n_items, keeps_items })
    }
}

/// The arrays of targets.
#[derive(Clone, Copy)]
pub(crate) struct LentTargets<'a> {
    starts: &'a [i64],
    items: &'a [u32],
    grades: Option<&'a [f64]>,
    n_items: usize,
    keeps_items: bool,
}

impl<'a> LentTargets<'a> {
    /// The targets, checked.
    pub(crate) fn to_core(self) -> Result<Targets<'a>> {
        let targets = Targets::new(self.starts, self.items, self.grades, self.n_items)?;
        Ok(targets.keeping_items(self.keeps_items))
    }
}

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

    /// The profiles against the relevant items of one group alone: those with its code.
    #[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
    fn of_group(&self, py: Python<'_>, codes: PyReadonlyArray1<'_, i32>, code: i32) -> PyResult<Self> {
        let codes = slice(&codes)?;
        Ok(Self { inner: run(py, 1, &Progress::NONE, |_| self.inner.of_group(codes, code))? })
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

/// The tie profiles of the rows of a score matrix, which the caller knows by `name`, and how many
/// relevant items are no candidates.
#[pyfunction]
#[pyo3(signature = (scores, targets, *, name, exclude, mask_neg_inf, drop_masked, num_threads, progress))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_scores<'py>(
    py: Python<'py>,
    scores: AnyScores<'py>,
    targets: PyTargets<'py>,
    name: &str,
    exclude: Option<PyExclusion<'py>>,
    mask_neg_inf: bool,
    drop_masked: bool,
    num_threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(PyProfiles, u64)> {
    let targets = targets.lend()?;
    let exclude = exclude.as_ref().map(PyExclusion::lend).transpose()?;
    let (inner, n_masked) = with_any_scores!(scores, view => run_on(py, name, num_threads, &Progress {
        callable: progress,
        per_task: profile::lists_per_task(view.ncols()),
        total: view.nrows(),
    }, |par| {
        let exclude = exclude.as_ref().map(|exclude| exclude.to_core(view.nrows(), view.ncols())).transpose()?;
        let masks = Masks { exclude, neg_inf: mask_neg_inf };
        profile::profile_scores(par, &view, &ScoredTargets { targets: targets.to_core()?, masks, drop_masked })
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

/// The tie profiles of ranked lists, which the caller knows by `name`, and how many depend on a tie that
/// is open at the end.
#[pyfunction]
#[pyo3(signature = (items, scores, starts, lengths, targets, *, name, open_tie, cut_off, keep_first, check_scores, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_lists<'py>(
    py: Python<'py>,
    items: AnyItems<'py>,
    scores: Option<AnyValues<'py>>,
    starts: PyReadonlyArray1<'py, usize>,
    lengths: PyReadonlyArray1<'py, usize>,
    targets: PyTargets<'py>,
    name: &str,
    open_tie: &str,
    cut_off: usize,
    keep_first: bool,
    check_scores: bool,
    num_threads: usize,
) -> PyResult<(PyProfiles, u64)> {
    let open_tie = parse_open_tie(open_tie)?;
    let (targets, scores) = (targets.lend()?, scores.as_ref().map(AnyValues::lend).transpose()?);
    let (starts, lengths) = (slice(&starts)?, slice(&lengths)?);
    macro_rules! profiles {
        ($items:expr) => {{
            let items = slice($items)?;
            run_on(py, name, num_threads, &Progress::NONE, |par| {
                let targets = targets.to_core()?;
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
#[pyo3(signature = (targets, *, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn fingerprint(
    py: Python<'_>,
    targets: PyTargets<'_>,
    num_threads: usize,
) -> PyResult<([u64; 2], [u64; 2])> {
    let targets = targets.lend()?;
    let digest = run(py, num_threads, &Progress::NONE, |par| aggregate::fingerprint(par, &targets.to_core()?))?;
    Ok((aggregate::BASES, digest))
}
