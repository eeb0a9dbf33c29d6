//! Matrices of rankings as the caller lends them, in any numeric type.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::input::{Element, Score};

/// One ranking per row, one label per column.
///
/// An object, because two matrices of eleven types each would make 121 versions of the counting.
pub trait Rankings: Sync {
    /// Number of rankings and of labels.
    fn shape(&self) -> (usize, usize);

    /// Writes integers that order and tie as the positions of a row do. `name` is the argument, for
    /// messages.
    ///
    /// # Errors
    /// [`Error::IncompleteRanking`] for a position that is not finite; [`Error::Parameter`] for an
    /// integer of 2^63 or more.
    fn read(&self, row: usize, name: &'static str, keys: &mut Vec<i64>) -> Result<()>;

    /// A position, for messages.
    fn show(&self, row: usize, column: usize) -> String;
}

impl<E: Element<Native: Position> + std::fmt::Display> Rankings for ArrayView2<'_, E> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn read(&self, row: usize, name: &'static str, keys: &mut Vec<i64>) -> Result<()> {
        let positions = self.row(row);
        keys.clear();
        keys.reserve(positions.len());
        keys.extend(positions.iter().map_while(|element| element.widen().ok()?.to_integer()));
        if keys.len() == positions.len() {
            return Ok(());
        }
        keys.clear();
        for (column, element) in positions.iter().enumerate() {
            let position = element.widen().map_err(|value| {
                let place = format!("{name} has {value} at row {row}, column {column}");
                Error::Parameter(format!("{place}: positions must stay below 2^63; rescale them"))
            })?;
            if !position.is_finite() {
                return Err(Error::IncompleteRanking { name, row, column, value: position.to_f64() });
            }
            keys.push(position.to_key());
        }
        Ok(())
    }

    fn show(&self, row: usize, column: usize) -> String {
        self[(row, column)].to_string()
    }
}

/// Types of positions.
pub trait Position: Score {
    /// The position itself if it is an integer.
    fn to_integer(self) -> Option<i64>;

    /// An integer that orders and ties as the position does.
    fn to_key(self) -> i64;
}

impl Position for i64 {
    fn to_integer(self) -> Option<i64> {
        Some(self)
    }

    fn to_key(self) -> i64 {
        self
    }
}

impl Position for f64 {
    #[expect(clippy::cast_possible_truncation, reason = "what the cast changes comes out unequal")]
    fn to_integer(self) -> Option<i64> {
        let integer = self as i64;
        (integer as f64 == self).then_some(integer)
    }

    /// The bits, of which those below the sign grow with the magnitude. Adding 0 makes -0 a 0.
    fn to_key(self) -> i64 {
        let bits = (self + 0.0).to_bits().cast_signed();
        if bits < 0 { bits ^ i64::MAX } else { bits }
    }
}

impl Position for f32 {
    fn to_integer(self) -> Option<i64> {
        f64::from(self).to_integer()
    }

    fn to_key(self) -> i64 {
        f64::from(self).to_key()
    }
}
