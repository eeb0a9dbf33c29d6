//! Ids of queries and items: integers, or texts as Arrow keeps them.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rankbound_core::input::{self, Column, IdList, Ids, TextList, Texts};

use crate::profile::slice;
use crate::profiles::AnyItems;
use crate::run::{Progress, run, to_py};

/// A column of ids, in types that need no conversion.
#[derive(FromPyObject)]
pub(crate) enum AnyIds<'py> {
    #[pyo3(transparent)]
    Integers(AnyItems<'py>),
    /// The bytes of all texts, and where each one starts.
    Joined(PyReadonlyArray1<'py, u8>, PyReadonlyArray1<'py, i64>),
    /// Views of texts, and the buffers of those that are long.
    Views(PyReadonlyArray1<'py, u8>, Vec<PyReadonlyArray1<'py, u8>>),
}

impl AnyIds<'_> {
    pub(crate) fn lend(&self) -> PyResult<Ids<'_>> {
        let texts = match self {
            Self::Integers(AnyItems::I32(ids)) => return Ok(Ids::Integers(Column::Narrow(slice(ids)?))),
            Self::Integers(AnyItems::I64(ids)) => return Ok(Ids::Integers(Column::Wide(slice(ids)?))),
            Self::Joined(bytes, starts) => Texts::joined(slice(bytes)?, slice(starts)?),
            Self::Views(views, buffers) => {
                Texts::views(slice(views)?, buffers.iter().map(slice).collect::<PyResult<Vec<_>>>()?)
            }
        };
        texts.map(Ids::Texts).map_err(|error| to_py(&error))
    }
}

/// The bytes of all texts, and where each one starts.
pub(crate) type PyTexts<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

pub(crate) fn hand_out_texts(py: Python<'_>, texts: TextList) -> PyTexts<'_> {
    (texts.bytes.into_pyarray(py), texts.starts.into_pyarray(py))
}

/// Ids that the core hands out.
#[derive(IntoPyObject)]
pub(crate) enum PyIds<'py> {
    #[pyo3(transparent)]
    Integers(Bound<'py, PyArray1<i64>>),
    #[pyo3(transparent)]
    Texts(PyTexts<'py>),
}

impl<'py> PyIds<'py> {
    pub(crate) fn new(py: Python<'py>, ids: IdList) -> Self {
        match ids {
            IdList::Integers(ids) => Self::Integers(ids.into_pyarray(py)),
            IdList::Texts(texts) => Self::Texts(hand_out_texts(py, texts)),
        }
    }
}

/// Strings of Python as texts; None if one is no string, or cannot be written as UTF-8.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn join_texts<'py>(
    py: Python<'py>,
    objects: PyReadonlyArray1<'py, Py<PyAny>>,
) -> PyResult<Option<PyTexts<'py>>> {
    let objects = slice(&objects)?;
    let mut bytes = Vec::new();
    // numpy asks for large pages, of which the first use costs less.
    let starts = PyArray1::zeros(py, objects.len() + 1, false);
    for (object, end) in objects.iter().zip(&mut starts.readwrite().as_slice_mut()?[1..]) {
        let object = object.bind(py);
        // The exact type is compared without a call; numpy has a type of strings of its own.
        let text = object.cast_exact::<PyString>().or_else(|_| object.cast::<PyString>());
        let Some(text) = text.ok().and_then(|text| text.to_str().ok()) else { return Ok(None) };
        bytes.extend_from_slice(text.as_bytes());
        // No vector is longer than the largest i64.
        *end = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    }
    Ok(Some((bytes.into_pyarray(py), starts)))
}

/// The place of each id among others, -1 for an id that is none of them.
#[pyfunction]
#[pyo3(signature = (ids, among, *, num_threads))]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over arguments")]
pub(crate) fn places_of<'py>(
    py: Python<'py>,
    ids: AnyIds<'py>,
    among: AnyIds<'py>,
    num_threads: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (ids, among) = (ids.lend()?, among.lend()?);
    let places = run(py, num_threads, &Progress::NONE, |par| input::places_of(par, &ids, &among))?;
    Ok(places.into_pyarray(py))
}
