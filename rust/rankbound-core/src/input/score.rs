//! The types in which scores are compared.

use crate::error::Error;

/// A type in which scores are compared exactly as they arrived: `f32`, `f64` or `i64`.
///
/// Narrower types convert to one of these without loss, so no tie is made or broken.
pub trait Score: Copy + PartialOrd + Send + Sync + Default + std::fmt::Debug + private::Sealed + 'static {
    /// What comparisons of such scores are counted in.
    type Count: Count;

    /// The mark of "not a candidate in this row": it orders below every candidate.
    const MASKED: Self;

    /// The score as `f64`. Exact for floats and for integers up to 2^53.
    fn to_f64(self) -> f64;

    /// Whether the score is finite; integers always are.
    fn is_finite(self) -> bool;

    /// The sum, to notice scores that are not finite; integers need none and stay as they are.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// Whether the score can be told from [`Score::MASKED`] and ranked.
    fn is_candidate(self) -> bool {
        self.is_finite() && self != Self::MASKED
    }

    /// The error for a score that is no candidate.
    fn refusal(self, row: usize, column: usize) -> Error;
}

/// A count as wide as the scores, so that a register that holds scores holds as many counts.
///
/// It wraps around, because a check per score would forbid vectors: no row has 2^32 columns.
pub trait Count: Copy + Default + Send + Sync + std::fmt::Debug + private::Sealed {
    /// The count, and one more if something holds.
    #[must_use]
    fn plus(self, holds: bool) -> Self;

    /// The count as a number of columns.
    fn total(self) -> u32;
}

macro_rules! count {
    ($integer:ty) => {
        impl Count for $integer {
            #[inline(always)]
            fn plus(self, holds: bool) -> Self {
                self.wrapping_add(holds.into())
            }

            #[inline(always)]
            fn total(self) -> u32 {
                u32::try_from(u64::from(self)).unwrap_or(u32::MAX)
            }
        }
    };
}

count!(u32);
count!(u64);

macro_rules! float_score {
    ($float:ty, $count:ty) => {
        impl Score for $float {
            type Count = $count;

            const MASKED: Self = Self::NEG_INFINITY;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn refusal(self, row: usize, column: usize) -> Error {
                Error::NonFiniteScore { row, column, value: self.to_f64() }
            }
        }
    };
}

float_score!(f32, u32);
float_score!(f64, u64);

impl Score for i64 {
    type Count = u64;

    const MASKED: Self = i64::MIN;

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn is_finite(self) -> bool {
        true
    }

    #[inline(always)]
    fn plus(self, _other: Self) -> Self {
        self
    }

    fn refusal(self, row: usize, column: usize) -> Error {
        let reason = "must be above -2^63 when items are excluded; add an offset or rescale";
        Error::IntegerRange { row, column, value: self.to_string(), reason }
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i64 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}
