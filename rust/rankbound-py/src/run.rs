//! The one door through which computation leaves Python: it releases the GIL, looks out for
//! Ctrl-C, reports progress and turns core errors into the classes of `rankbound.errors`.

use std::ops::ControlFlow;

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::{create_exception, import_exception};
use rankbound_core::{Error, PairProblem, Par, Result};

import_exception!(rankbound.errors, NonFiniteScoreError);
import_exception!(rankbound.errors, ScoreRangeError);
import_exception!(rankbound.errors, InvalidTypeError);
import_exception!(rankbound.errors, InvalidParameterError);
import_exception!(rankbound.errors, EmptyInputError);
import_exception!(rankbound.errors, ShapeError);
import_exception!(rankbound.errors, DuplicateItemError);
import_exception!(rankbound.errors, UnknownLabelError);
import_exception!(rankbound.errors, OpenTieError);
import_exception!(rankbound.errors, FileFormatError);
create_exception!(_core, RefusedPair, PyException, "A row of a run or of qrels: problem, row and value.");
import_exception!(rankbound.errors, IncompleteRankingError);
import_exception!(rankbound.errors, TiedRankingError);

/// A Python callable to be told how far a run is, as `progress(done, total)`.
pub(crate) struct Progress<'a, 'py> {
    /// The callable, if anybody wants to know.
    pub(crate) callable: Option<&'a Bound<'py, PyAny>>,
    /// How much a task is worth, at most.
    pub(crate) per_task: usize,
    /// How much all tasks are worth.
    pub(crate) total: usize,
}

impl Progress<'_, '_> {
    /// Nobody wants to know.
    pub(crate) const NONE: Self = Self { callable: None, per_task: 0, total: 0 };
}

/// Runs `compute`, whose errors say themselves what they are about, without the GIL. Progress is told
/// about twenty times a second; an exception from it, or Ctrl-C, ends the run and is raised.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    num_threads: usize,
    progress: &Progress<'_, '_>,
    compute: impl FnOnce(&mut Par<'_>) -> Result<R> + Send,
) -> PyResult<R> {
    run_on(py, "scores", num_threads, progress, compute)
}

/// [`run`] on scores or lists that the caller knows by `name`, for messages.
pub(crate) fn run_on<R: Send>(
    py: Python<'_>,
    name: &str,
    num_threads: usize,
    progress: &Progress<'_, '_>,
    compute: impl FnOnce(&mut Par<'_>) -> Result<R> + Send,
) -> PyResult<R> {
    let callable: Option<Py<PyAny>> = progress.callable.map(|callable| callable.clone().unbind());
    let (per_task, total) = (progress.per_task, progress.total);
    let mut raised: Option<PyErr> = None;
    let result = {
        let raised = &mut raised;
        py.detach(move || {
            let mut tick = |finished: usize| {
                let seen = Python::attach(|py| {
                    py.check_signals()?;
                    let done = (finished * per_task).min(total);
                    callable.as_ref().map_or(Ok(()), |callable| callable.call1(py, (done, total)).map(|_| ()))
                });
                match seen {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        raised.get_or_insert(error);
                        ControlFlow::Break(())
                    }
                }
            };
            compute(&mut Par { num_threads, tick: &mut tick })
        })
    };
    match (result, raised) {
        (_, Some(error)) => Err(error),
        (Ok(value), None) => Ok(value),
        (Err(error), None) => Err(named(&error, name)),
    }
}

/// The Python exception for a core error that is about no scores and lists.
pub(crate) fn to_py(error: &Error) -> PyErr {
    named(error, "scores")
}

/// The Python exception for a core error, with the core's message. The core knows scores and lists by
/// their place; here they get the name of the argument.
fn named(error: &Error, name: &str) -> PyErr {
    let message = match error {
        Error::NonFiniteScore { .. } | Error::ScoreOutOfRange { .. } | Error::IntegerRange { .. } => {
            format!("{name} has {error}")
        }
        Error::DuplicateItem { .. }
        | Error::UnknownItem { .. }
        | Error::ListScore { .. }
        | Error::OpenTie { .. }
        | Error::OpenTop { .. } => format!("{name}: {error}"),
        _ => error.to_string(),
    };
    match error {
        Error::NonFiniteScore { .. }
        | Error::VectorValue { .. }
        | Error::ItemBias { .. }
        | Error::ScoreOverflow { .. } => NonFiniteScoreError::new_err(message),
        Error::ScoreOutOfRange { .. } | Error::ZeroVector { .. } => ScoreRangeError::new_err(message),
        Error::AllMasked { .. } => EmptyInputError::new_err(message),
        Error::IntegerRange { .. } => InvalidTypeError::new_err(message),
        Error::IncompleteRanking { .. } => IncompleteRankingError::new_err(message),
        Error::TiedRanking { .. } => TiedRankingError::new_err(message),
        Error::DuplicateItem { .. } => DuplicateItemError::new_err(message),
        Error::UnknownItem { .. } => UnknownLabelError::new_err(message),
        Error::ListScore { value, .. } if !value.is_finite() => NonFiniteScoreError::new_err(message),
        Error::AccumulatorRange { .. } | Error::Parameter(_) | Error::ListScore { .. } => {
            InvalidParameterError::new_err(message)
        }
        Error::OpenTie { .. } | Error::OpenTop { .. } => OpenTieError::new_err(message),
        Error::Line { .. } => FileFormatError::new_err(message),
        // Python has the ids of the row, and words the message.
        &Error::Pair { row, problem } => {
            let (kind, value) = match problem {
                PairProblem::Twice => ("twice", f64::NAN),
                PairProblem::Grade(grade) => ("grade", grade),
                PairProblem::Nan => ("nan", f64::NAN),
                PairProblem::SameRank(rank) => ("same_rank", rank),
                PairProblem::OpenTie(tied) => ("open_tie", f64::from(tied)),
            };
            RefusedPair::new_err((kind, row, value))
        }
        Error::Shape(_) => ShapeError::new_err(message),
        // A tick that interrupts leaves its own exception behind; this is for completeness.
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
    }
}
