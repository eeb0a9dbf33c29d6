//! Score matrices as numpy lends them.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use rankbound_core::label_ranking::Rankings;

/// A lent matrix of any type that can be ranked.
#[derive(FromPyObject)]
pub(crate) enum AnyScores<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    F16(PyReadonlyArray2<'py, half::f16>),
    I8(PyReadonlyArray2<'py, i8>),
    I16(PyReadonlyArray2<'py, i16>),
    I32(PyReadonlyArray2<'py, i32>),
    I64(PyReadonlyArray2<'py, i64>),
    U8(PyReadonlyArray2<'py, u8>),
    U16(PyReadonlyArray2<'py, u16>),
    U32(PyReadonlyArray2<'py, u32>),
    U64(PyReadonlyArray2<'py, u64>),
}

/// Calls the same generic code for whatever type the matrix has.
macro_rules! with_any_scores {
    ($scores:expr, $view:ident => $body:expr) => {
        with_any_scores!(@match $scores, $view, $body, F32 F64 F16 I8 I16 I32 I64 U8 U16 U32 U64)
    };
    (@match $scores:expr, $view:ident, $body:expr, $($variant:ident)*) => {
        match &$scores {
            $($crate::scores::AnyScores::$variant(array) => {
                let $view = array.as_array();
                $body
            })*
        }
    };
}

pub(crate) use with_any_scores;

impl AnyScores<'_> {
    /// The matrix as one ranking per row.
    pub(crate) fn as_rankings(&self) -> Box<dyn Rankings + Send + '_> {
        with_any_scores!(*self, view => Box::new(view))
    }
}
