//! The types in which scores are compared.

/// A type in which scores are compared exactly as they arrived: `f32`, `f64` or `i64`.
///
/// Narrower types convert to one of these without loss, so no tie is made or broken.
pub trait Score: Copy + PartialOrd + Send + Sync + std::fmt::Debug + private::Sealed + 'static {
    /// The mark of "not a candidate in this row": it orders below every candidate.
    const MASKED: Self;

    /// The score as `f64`. Exact for floats and for integers up to 2^53.
    fn to_f64(self) -> f64;

    /// Whether the score is finite; integers always are.
    fn is_finite(self) -> bool;
}

impl Score for f32 {
    const MASKED: Self = f32::NEG_INFINITY;

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Score for f64 {
    const MASKED: Self = f64::NEG_INFINITY;

    fn to_f64(self) -> f64 {
        self
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Score for i64 {
    const MASKED: Self = i64::MIN;

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn is_finite(self) -> bool {
        true
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i64 {}
}
