//! Number types in which a matrix may arrive, each with the type in which it is compared.

use half::f16;

use super::score::Score;
use crate::error::Error;

/// A matrix element: converts to a [`Score`] without loss, or says why it cannot.
pub trait Element: Copy + Send + Sync + 'static {
    /// The type in which elements are compared.
    type Native: Score;

    /// The row itself if it needs no conversion.
    fn lend(_row: &[Self]) -> Option<&[Self::Native]> {
        None
    }

    /// The element as a score.
    ///
    /// # Errors
    /// What the comparison type cannot hold, in decimal.
    fn widen(self) -> Result<Self::Native, String>;

    /// The element at a place of a matrix as a score.
    ///
    /// # Errors
    /// [`Error::IntegerRange`], naming the place.
    fn widen_at(self, row: usize, column: usize) -> crate::error::Result<Self::Native> {
        self.widen().map_err(|value| Error::IntegerRange { row, column, value, reason: BEYOND_RANGE })
    }
}

/// What to do about an integer that is not compared exactly.
pub(super) const BEYOND_RANGE: &str = "must stay below 2^63; subtract an offset or rescale";

macro_rules! native {
    ($($element:ty),*) => {$(
        impl Element for $element {
            type Native = Self;

            fn lend(row: &[Self]) -> Option<&[Self]> {
                Some(row)
            }

            fn widen(self) -> Result<Self, String> {
                Ok(self)
            }
        }
    )*};
}

macro_rules! widened {
    ($($element:ty => $native:ty),*) => {$(
        impl Element for $element {
            type Native = $native;

            fn widen(self) -> Result<$native, String> {
                Ok(<$native>::from(self))
            }
        }
    )*};
}

native!(f32, f64, i64);
widened!(f16 => f32, i8 => f32, u8 => f32, i16 => f32, u16 => f32, i32 => f64, u32 => f64);

impl Element for u64 {
    type Native = i64;

    fn widen(self) -> Result<i64, String> {
        i64::try_from(self).map_err(|_| self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_keeps_order_and_ties() {
        assert_eq!(f16::from_f32(0.1).widen(), Ok(f16::from_f32(0.1).to_f32()));
        assert_eq!(u16::MAX.widen(), Ok(65535.0));
        assert_eq!(i32::MIN.widen(), Ok(-2_147_483_648.0));
        assert_ne!(((1_u64 << 53) + 1).widen(), (1_u64 << 53).widen());
        assert_eq!(u64::MAX.widen(), Err("18446744073709551615".into()));
    }
}
