//! Runs and relevance judgements as long tables: see `rankbound_core::profile` and `input`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rankbound_core::input::{Qrels, TrecFile, TrecFormat, Values};
use rankbound_core::profile::{self, Judged, Run, RunRules, TieBreak};

use crate::ids::{AnyIds, PyIds, PyTexts, hand_out_texts};
use crate::profile::slice;
use crate::profiles::{PyProfiles, PyTargets, parse_open_tie};
use crate::run::{InvalidParameterError, Progress, run};

/// Numbers in a type that needs no conversion.
#[derive(FromPyObject)]
pub(crate) enum AnyValues<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

impl AnyValues<'_> {
    pub(crate) fn lend(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Self::F32(values) => Values::Narrow(slice(values)?),
            Self::F64(values) => Values::Wide(slice(values)?),
        })
    }
}

type PyVector<'py, T> = Bound<'py, PyArray1<T>>;

type PyQrels<'py> = (PyIds<'py>, PyIds<'py>, PyVector<'py, i64>, PyVector<'py, u32>, PyVector<'py, f64>);

/// The relevant items of each query: query ids, item ids, row starts, places among the item ids, grades.
#[pyfunction]
#[pyo3(signature = (queries, items, grades, *, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn group_qrels<'py>(
    py: Python<'py>,
    queries: AnyIds<'py>,
    items: AnyIds<'py>,
    grades: AnyValues<'py>,
    num_threads: usize,
) -> PyResult<PyQrels<'py>> {
    let (queries, items, grades) = (queries.lend()?, items.lend()?, grades.lend()?);
    let qrels = run(py, num_threads, &Progress::NONE, |par| Qrels::new(par, &queries, &items, &grades))?;
    Ok((
        PyIds::new(py, qrels.query_ids),
        PyIds::new(py, qrels.item_ids),
        qrels.starts.into_pyarray(py),
        qrels.items.into_pyarray(py),
        qrels.grades.into_pyarray(py),
    ))
}

/// The tie profiles of the judged queries of a run, how many of those have no row, how many queries
/// are not judged, how many depend on an open tie, and the most rows of a judged query.
#[pyfunction]
#[pyo3(signature = (queries, items, values, targets, query_ids, item_ids, *, tie_break, open_tie, cut_off, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python function")]
pub(crate) fn profile_runs<'py>(
    py: Python<'py>,
    queries: AnyIds<'py>,
    items: AnyIds<'py>,
    values: AnyValues<'py>,
    targets: PyTargets<'py>,
    query_ids: AnyIds<'py>,
    item_ids: AnyIds<'py>,
    tie_break: &str,
    open_tie: &str,
    cut_off: usize,
    num_threads: usize,
) -> PyResult<(PyProfiles, (usize, usize, u64, usize))> {
    let tie_break = match tie_break {
        "expected" => TieBreak::Expected,
        "largest_id" => TieBreak::LargestId,
        "rank" => TieBreak::Rank,
        _ => return Err(InvalidParameterError::new_err(format!("tie_break {tie_break:?} is not known"))),
    };
    let rules = RunRules { tie_break, open_tie: parse_open_tie(open_tie)?, cut_off };
    let targets = targets.lend()?;
    let (query_ids, item_ids) = (query_ids.lend()?, item_ids.lend()?);
    let table = Run { queries: queries.lend()?, items: items.lend()?, values: values.lend()? };
    let (inner, counts) = run(py, num_threads, &Progress::NONE, |par| {
        let judged = Judged { targets: targets.to_core()?, query_ids, item_ids };
        profile::profile_runs(par, &table, &judged, rules)
    })?;
    Ok((PyProfiles { inner }, (counts.n_missing, counts.n_ignored, counts.n_open, counts.longest)))
}

type PyTrecFile<'py> = (PyTexts<'py>, PyTexts<'py>, PyVector<'py, f64>);

/// The lines of a TREC file: queries, items, and numbers.
#[pyfunction]
#[pyo3(signature = (text, *, value))]
pub(crate) fn read_trec<'py>(py: Python<'py>, text: &[u8], value: &str) -> PyResult<PyTrecFile<'py>> {
    let format = match value {
        "score" => TrecFormat::Scores,
        "rank" => TrecFormat::Ranks,
        "relevance" => TrecFormat::Qrels,
        _ => return Err(InvalidParameterError::new_err(format!("value {value:?} is not known"))),
    };
    let file = run(py, 1, &Progress::NONE, |_| TrecFile::parse(text, format))?;
    Ok((hand_out_texts(py, file.queries), hand_out_texts(py, file.items), file.values.into_pyarray(py)))
}
