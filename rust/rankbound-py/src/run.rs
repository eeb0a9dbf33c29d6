//! The one door through which computation leaves Python: it releases the GIL, looks out for
//! Ctrl-C, reports progress and turns core errors into the classes of `rankbound.errors`.

use std::ops::ControlFlow;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;
use pyo3::prelude::*;
use rankbound_core::{Error, Par, Result};

import_exception!(rankbound.errors, NonFiniteScoreError);
import_exception!(rankbound.errors, ScoreRangeError);
import_exception!(rankbound.errors, InvalidTypeError);
import_exception!(rankbound.errors, InvalidParameterError);
import_exception!(rankbound.errors, EmptyInputError);
import_exception!(rankbound.errors, ShapeError);

/// Runs `compute` without the GIL. `progress`, if given, is called as `progress(finished_tasks)`
/// about twenty times a second; an exception from it, or Ctrl-C, ends the run and is raised.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    num_threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    compute: impl FnOnce(&mut Par<'_>) -> Result<R> + Send,
) -> PyResult<R> {
    let progress: Option<Py<PyAny>> = progress.map(|callable| callable.clone().unbind());
    let mut raised: Option<PyErr> = None;
    let result = {
        let raised = &mut raised;
        py.detach(move || {
            let mut tick = |finished: usize| {
                let seen = Python::attach(|py| {
                    py.check_signals()?;
                    progress.as_ref().map_or(Ok(()), |callable| callable.call1(py, (finished,)).map(|_| ()))
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
        (Err(error), None) => Err(to_py(&error)),
    }
}

/// The Python exception for a core error, with the core's message.
pub(crate) fn to_py(error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::NonFiniteScore { .. } => NonFiniteScoreError::new_err(message),
        Error::ScoreOutOfRange { .. } => ScoreRangeError::new_err(message),
        Error::AllMasked { .. } => EmptyInputError::new_err(message),
        Error::IntegerRange { .. } => InvalidTypeError::new_err(message),
        Error::AccumulatorRange { .. } | Error::Parameter(_) => InvalidParameterError::new_err(message),
        Error::Shape(_) => ShapeError::new_err(message),
        // A tick that interrupts leaves its own exception behind; this is for completeness.
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
    }
}
