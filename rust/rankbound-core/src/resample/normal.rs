//! The standard normal distribution.

use std::f64::consts::FRAC_1_SQRT_2;

/// The probability below `x`.
pub(super) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The value with probability `p` below it, to about 1e-15: algorithm AS 241 (Wichura 1988,
/// PPND16). Infinite at 0 and 1, NaN outside.
pub(super) fn quantile(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 || p.is_nan() {
        return match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(&CENTRE, r);
    }
    let r = (-libm::log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let x = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&TAIL, r - 5.0) };
    if q < 0.0 { -x } else { x }
}

/// Numerator over denominator, both with their constant term first.
fn ratio([numerator, denominator]: &[[f64; 8]; 2], r: f64) -> f64 {
    let horner =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * r + coefficient);
    horner(numerator) / horner(denominator)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 2e-15 * expected.abs(), "{found} {expected}");
    }

    #[test]
    fn quantiles_and_probabilities_are_scipys() {
        // scipy.special.ndtri and ndtr, scipy 1.17.1.
        for (p, x) in [
            (0.025, -1.959_963_984_540_054_5),
            (0.3, -0.524_400_512_708_040_9),
            (0.5, 0.0),
            (0.925, 1.439_531_470_938_456_3),
            (0.999_9, 3.719_016_485_455_709),
            (1.0e-8, -5.612_001_244_174_789),
            (1.0e-20, -9.262_340_089_798_409),
            (1.0e-300, -37.047_096_299_361_2),
        ] {
            close(quantile(p), x);
        }
        for (x, p) in [
            (-5.0, 2.866_515_718_791_933e-7),
            (-1.0, 0.158_655_253_931_457_07),
            (-0.1, 0.460_172_162_722_971),
            (0.0, 0.5),
            (0.7, 0.758_036_347_776_927),
            (1.959_963_984_540_054, 0.975),
            (6.0, 0.999_999_999_013_412_3),
        ] {
            close(cdf(x), p);
        }
    }

    #[test]
    fn the_ends_are_infinite() {
        assert_eq!([quantile(0.0), quantile(1.0)], [f64::NEG_INFINITY, f64::INFINITY]);
        assert!([-0.1, 1.1, f64::NAN].iter().all(|&p| quantile(p).is_nan()));
        assert_eq!([cdf(f64::NEG_INFINITY), cdf(f64::INFINITY)], [0.0, 1.0]);
    }
}
