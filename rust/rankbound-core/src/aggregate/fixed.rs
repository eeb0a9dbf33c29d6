//! Sums that do not depend on order: fixed-point integers of 128 bits.

use crate::error::{Error, Result};

/// Binary digits after the point.
const FRACTION_BITS: i32 = 80;

/// Bits of the low limb of a sum split in two.
pub(super) const LIMB_BITS: i32 = 50;

/// Values must stay below this in magnitude, so that some 2^47 values of size 1 can be added.
pub const VALUE_LIMIT: f64 = (1_u64 << 40) as f64;

/// A sum of doubles, scaled by 2^80 and held as an integer.
///
/// Integer addition is associative and commutative, so any split of the values over threads,
/// batches or machines gives the same bits. Doubles of magnitude 2^-28 or more enter exactly,
/// smaller ones with an error of at most 2^-81.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed(i128);

impl Fixed {
    /// The value rounded half to even at 2^-80.
    ///
    /// # Panics
    /// If the value is not finite or not below [`VALUE_LIMIT`]; callers with values of unknown
    /// size use [`Fixed::try_from_f64`].
    #[inline]
    pub fn from_f64(value: f64) -> Self {
        assert!(value.abs() < VALUE_LIMIT, "{value} is outside the accumulator's range");
        let (significand, exponent) = significand_and_exponent(value);
        let significand = i128::from(significand);
        let shift = exponent + FRACTION_BITS;
        let magnitude = if shift >= 0 {
            significand << shift
        } else if shift < -54 {
            0
        } else {
            let half = 1_i128 << (-shift - 1);
            let floor = significand >> -shift;
            let rest = significand & ((half << 1) - 1);
            floor + i128::from(rest > half || (rest == half && floor & 1 == 1))
        };
        Self(if value.is_sign_negative() { -magnitude } else { magnitude })
    }

    /// As [`Fixed::from_f64`], refusing what does not fit.
    ///
    /// # Errors
    /// [`Error::AccumulatorRange`] naming the argument and the position.
    #[inline]
    pub fn try_from_f64(value: f64, name: &'static str, position: usize) -> Result<Self> {
        if value.abs() < VALUE_LIMIT {
            Ok(Self::from_f64(value))
        } else {
            Err(Error::AccumulatorRange { name, position, value })
        }
    }

    /// This sum and another one.
    ///
    /// # Errors
    /// [`Error::AccumulatorRange`] naming the argument and the position, if it leaves the range.
    #[inline]
    pub fn checked_add(self, value: f64, name: &'static str, position: usize) -> Result<Self> {
        let term = Self::try_from_f64(value, name, position)?;
        self.0.checked_add(term.0).map(Self).ok_or(Error::AccumulatorRange { name, position, value })
    }

    /// This sum and another; none if it leaves the range.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The sum as a double, rounded once to nearest even.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 * (-f64::from(FRACTION_BITS)).exp2()
    }

    /// The sum divided by `count`, rounded once: the mean of equal values is that value again.
    /// NaN for a count of 0.
    pub fn mean(self, count: u64) -> f64 {
        if count == 0 {
            return f64::NAN;
        }
        if self.0 == 0 {
            return 0.0;
        }
        let magnitude = self.0.unsigned_abs();
        let shift = magnitude.leading_zeros();
        let (scaled, count) = (magnitude << shift, u128::from(count));
        // At least 64 bits remain, so a non-zero remainder may be kept as the lowest of them.
        let quotient = (scaled / count) | u128::from(scaled % count != 0);
        let mean = quotient as f64 * (-f64::from(FRACTION_BITS) - f64::from(shift)).exp2();
        if self.0 < 0 { -mean } else { mean }
    }

    /// The sum as a low limb of [`LIMB_BITS`] bits, not negative, and a high one.
    pub(super) fn limbs(self) -> [i64; 2] {
        self.try_limbs().expect("a single value fits its limbs")
    }

    /// The same for a sum of any size; none if the high limb cannot hold it.
    pub(super) fn try_limbs(self) -> Option<[i64; 2]> {
        let low = self.0 & ((1 << LIMB_BITS) - 1);
        Some([i64::try_from(low).ok()?, i64::try_from(self.0 >> LIMB_BITS).ok()?])
    }

    /// The sum of two limbs of any size.
    pub(super) fn from_limbs(low: i64, high: i64) -> Self {
        Self((i128::from(high) << LIMB_BITS) + i128::from(low))
    }

    /// The sum as an integer, scaled by 2^80.
    pub(super) fn to_scaled(self) -> i128 {
        self.0
    }

    /// The sum of a scaled integer.
    pub(super) fn from_scaled(scaled: i128) -> Self {
        Self(scaled)
    }

    /// This sum `count` times over.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0 * i128::from(count))
    }
}

/// The magnitude of a finite double as an integer and the power of two it counts.
#[inline]
pub(crate) fn significand_and_exponent(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7ff).expect("eleven bits");
    let fraction = bits & ((1 << 52) - 1);
    // Subnormals share the exponent of the smallest normal numbers.
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

impl std::ops::Add for Fixed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::Sub for Fixed {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl std::ops::AddAssign for Fixed {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl std::ops::SubAssign for Fixed {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl std::iter::Sum for Fixed {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::default(), std::ops::Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> Fixed {
        values.iter().map(|&value| Fixed::from_f64(value)).sum()
    }

    #[test]
    fn doubles_enter_exactly_or_round_half_to_even() {
        for value in [0.0, -0.0, 1.0, -1.5, 0.1, 1.0 / 3.0, (-28_f64).exp2(), 1e12] {
            assert_eq!(Fixed::from_f64(value).to_f64(), value);
        }
        let unit = (-80_f64).exp2();
        assert_eq!(Fixed::from_f64(0.5 * unit), Fixed(0));
        assert_eq!(Fixed::from_f64(1.5 * unit), Fixed(2));
        assert_eq!(Fixed::from_f64(-2.5 * unit), Fixed(-2));
        assert_eq!(Fixed::from_f64(f64::MIN_POSITIVE / 4.0), Fixed(0));
    }

    #[test]
    fn cancellation_leaves_nothing_behind() {
        // A float sum of these gives 0 or 1 by their order.
        assert_eq!(sum(&[1e11, 0.1, -1e11]).to_f64(), 0.1);
    }

    #[test]
    fn the_mean_of_twenty_million_ones_is_one() {
        assert_eq!(Fixed::from_f64(1.0).times(20_000_000).mean(20_000_000), 1.0);
        assert!(Fixed::default().mean(0).is_nan());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        for value in [f64::NAN, f64::INFINITY, VALUE_LIMIT, -VALUE_LIMIT] {
            let error = Fixed::try_from_f64(value, "class_values", 7).unwrap_err();
            assert!(error.to_string().starts_with("class_values holds"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_mean_of_equal_values_is_the_value(value in -1e3_f64..1e3, count in 1_u64..1_000_000) {
            prop_assume!(value.abs() > 1e-8);
            prop_assert_eq!(Fixed::from_f64(value).times(count).mean(count), value);
        }

        #[test]
        fn any_order_gives_the_same_bits(values in prop::collection::vec(-1e6_f64..1e6, 0..50), cut in 0_usize..50) {
            let cut = cut.min(values.len());
            let mut turned = values[cut..].to_vec();
            turned.extend_from_slice(&values[..cut]);
            turned.reverse();
            prop_assert_eq!(sum(&values), sum(&turned));
        }

        #[test]
        fn limbs_hold_the_whole_sum(value in -1e4_f64..1e4, carried in -1_i64 << 60..1 << 60, small in -1e-20_f64..1e-20) {
            for fixed in [Fixed::from_f64(value), Fixed::from_f64(small), Fixed::default(), Fixed(-1)] {
                let [low, high] = fixed.limbs();
                prop_assert!((0..1_i64 << LIMB_BITS).contains(&low));
                prop_assert_eq!(Fixed::from_limbs(low, high), fixed);
                // A carry between the limbs changes nothing.
                let borrowed = carried >> LIMB_BITS;
                prop_assert_eq!(Fixed::from_limbs(low + (borrowed << LIMB_BITS), high - borrowed), fixed);
            }
        }

        /// Quarters up to 2^20 are summed without error by `f64` itself.
        #[test]
        fn sums_and_means_are_correctly_rounded(quarters in prop::collection::vec(-4_000_000_i32..4_000_000, 1..40)) {
            let values: Vec<f64> = quarters.iter().map(|&q| f64::from(q) / 4.0).collect();
            let total: f64 = values.iter().sum();
            prop_assert_eq!(sum(&values).to_f64(), total);
            prop_assert_eq!(sum(&values).mean(values.len() as u64), total / values.len() as f64);
        }
    }
}
