//! The whole bootstrap against numbers printed by scipy 1.17.1 with numpy 2.4.6.

use std::ops::ControlFlow;

use super::Bootstrap;
use crate::{Error, Par, Result};

/// `SeedSequence(0).generate_state(4, uint64)`.
pub(super) const SEED_0: [u64; 4] =
    [15_793_235_383_387_715_774, 12_390_638_538_380_655_177, 2_361_836_109_651_742_017, 3_188_717_715_514_472_916];

/// Made-up values that Python repeats: `((index * 7919 + series * 31) % modulus) / 10007`.
pub(super) fn value(index: usize, series: usize, modulus: usize) -> f64 {
    ((index * 7919 + series * 31) % modulus) as f64 / 10_007.0
}

/// One word that depends on every bit and on the order of the values.
pub(super) fn checksum(values: impl IntoIterator<Item = f64>) -> u64 {
    values.into_iter().fold(0_u64, |sum, value| sum.rotate_left(1) ^ value.to_bits())
}

fn on_threads<R>(num_threads: usize, run: impl Fn(&mut Par<'_>) -> Result<R>) -> R {
    Par::unwatched(num_threads, run).unwrap_or_else(|error| panic!("{error}"))
}

const MODEL: [f64; 7] = [1.0, 0.5, 0.0, 2.0, 0.25, 1.0, 0.0];
const FLOOR: [f64; 7] = [0.5, 0.5, 0.25, 1.0, 0.5, 0.5, 0.125];
const COUNTS: [f64; 7] = [1.0, 1.0, 2.0, 3.0, 1.0, 2.0, 1.0];

#[test]
fn seven_units_are_scipys() {
    let series: [&[f64]; 2] = [&MODEL, &FLOOR];
    let bootstrap = Bootstrap { series: &series, counts: Some(&COUNTS), seed_words: SEED_0, n_resamples: 1000 };
    for num_threads in [1, 2, 16] {
        let ratios = on_threads(num_threads, |par| bootstrap.ratios(par));
        assert_eq!(ratios[0].len(), 1000);
        let first = [0.522_727_272_727_272_7, 0.5, 0.479_166_666_666_666_7, 0.477_272_727_272_727_3, 0.55];
        assert_eq!(ratios[0][..5], first);
        let limits = on_threads(num_threads, |par| bootstrap.limits(par, &[(0, 1)], 0.95));
        assert_eq!(limits[0], (f64::from_bits(0x3fc6_6666_6666_6666), f64::from_bits(0x3fe4_ec4e_c4ec_4ec5)));
        assert_eq!(limits[2], (f64::from_bits(0xbfb7_4a79_04a7_9046), f64::from_bits(0x3fd2_aaaa_aaaa_aaaa)));
    }
}

#[test]
fn the_first_and_last_draws_are_numpys() {
    // Powers of ten tell how often each unit was drawn.
    let digits: Vec<f64> = (0..7).map(|unit| f64::from(10_u32.pow(unit))).collect();
    let bootstrap = Bootstrap { series: &[&digits], counts: None, seed_words: SEED_0, n_resamples: 1000 };
    let ratios = on_threads(2, |par| bootstrap.ratios(par));
    let draws: [[usize; 7]; 4] =
        [[5, 4, 3, 1, 2, 0, 0], [0, 1, 5, 4, 6, 3, 4], [6, 5, 4, 3, 3, 6, 1], [5, 0, 4, 2, 3, 5, 0]];
    for (row, replicate) in draws.iter().zip([0, 1, 2, 999]) {
        assert_eq!(ratios[0][replicate], row.iter().map(|&unit| digits[unit]).sum::<f64>() / 7.0);
    }
}

#[test]
fn six_hundred_units_are_scipys() {
    let rows = include_str!("../../tests/data/bootstrap_601.csv").lines().skip(1);
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let (sums, counts): (Vec<f64>, Vec<f64>) =
        rows.filter_map(|row| row.split_once(',')).map(|(sum, count)| (number(sum), number(count))).unzip();
    assert_eq!(sums.len(), 601);
    let bootstrap = Bootstrap { series: &[&sums], counts: Some(&counts), seed_words: SEED_0, n_resamples: 1000 };
    for num_threads in [1, 2, 16] {
        let ratios = on_threads(num_threads, |par| bootstrap.ratios(par));
        assert_eq!(checksum(ratios[0].iter().copied()), 14_047_184_716_433_203_403);
        let limits = on_threads(num_threads, |par| bootstrap.limits(par, &[], 0.95));
        assert_eq!(limits, [(0.460_651_149_308_852_2, 0.512_353_831_339_641_2)]);
    }
}

/// Every width of a panel, with and without counts, short resamples and long ones that several
/// tasks share, tables of all units and tables of few distinct rows.
#[test]
fn other_shapes_are_numpys() {
    for (n_units, n_series, n_resamples, with_counts, modulus, numpy) in [
        (37, 10, 50, true, 10_007, 0xd666_a21e_3e41_b6ab),
        (1_000, 3, 20, false, 10_007, 0x97f9_1555_2f78_da2a),
        (100_003, 2, 3, true, 10_007, 0xc1d0_7e1a_1987_33f5),
        (100_003, 9, 3, false, 10_007, 0xffe3_9bad_ffba_d773),
        (100_003, 10, 3, true, 101, 0xc776_d098_0e89_7e9c),
        (100_003, 2, 3, true, 100_003, 0x4004_32af_896e_9e81),
    ] {
        let values: Vec<Vec<f64>> =
            (0..n_series).map(|series| (0..n_units).map(|unit| value(unit, series, modulus)).collect()).collect();
        let series: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let counts: Vec<f64> = (0..n_units).map(|unit| (unit % 3 + 1) as f64).collect();
        let counts = with_counts.then_some(&counts[..]);
        let bootstrap = Bootstrap { series: &series, counts, seed_words: SEED_0, n_resamples };
        for num_threads in [1, 2, 16] {
            let ratios = on_threads(num_threads, |par| bootstrap.ratios(par));
            let found = ratios.into_iter().map(|replicates| f64::from_bits(checksum(replicates)));
            assert_eq!(checksum(found), numpy, "{n_units} units, {n_series} series, {num_threads} threads");
        }
    }
}

#[test]
fn a_sum_of_negative_zeros_is_numpys_zero() {
    let bootstrap = Bootstrap { series: &[&[-0.0, -0.0]], counts: None, seed_words: SEED_0, n_resamples: 2 };
    let ratios = on_threads(1, |par| bootstrap.ratios(par));
    assert!(ratios[0].iter().all(|ratio| ratio.to_bits() == 0));
}

#[test]
fn no_lists_or_no_number_give_no_limits() {
    for (sums, counts) in [([0.0, 0.0], [0.0, 0.0]), ([f64::NAN, 1.0], [1.0, 1.0])] {
        let bootstrap = Bootstrap { series: &[&sums], counts: Some(&counts), seed_words: SEED_0, n_resamples: 50 };
        let limits = on_threads(1, |par| bootstrap.limits(par, &[], 0.95));
        assert!(limits[0].0.is_nan() && limits[0].1.is_nan());
    }
}

#[test]
fn contradictory_arguments_are_refused() {
    let refused = |series: &[&[f64]], counts: Option<&[f64]>, gaps: &[(usize, usize)]| {
        let bootstrap = Bootstrap { series, counts, seed_words: SEED_0, n_resamples: 5 };
        matches!(Par::unwatched(1, |par| bootstrap.limits(par, gaps, 0.95)), Err(Error::Shape(_)))
    };
    assert!(refused(&[&[1.0]], None, &[]));
    assert!(refused(&[&[1.0, 2.0], &[1.0]], None, &[]));
    assert!(refused(&[&[1.0, 2.0]], Some(&[1.0]), &[]));
    assert!(refused(&[&[1.0, 2.0]], None, &[(0, 1)]));
    assert!(!refused(&[], None, &[]));
    assert!(!refused(&[&[1.0, 2.0]], None, &[(0, 0)]));
}

#[test]
fn progress_counts_resamples_and_can_stop_them() {
    let values = vec![1.0; 10_000];
    let bootstrap = Bootstrap { series: &[&values], counts: None, seed_words: SEED_0, n_resamples: 100_000 };
    let mut seen = 0;
    let tick = &mut |finished| {
        assert!(seen <= finished && finished <= 100_000);
        seen = finished;
        if finished > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(bootstrap.ratios(&mut Par { num_threads: 2, tick }), Err(Error::Interrupted)));
    assert!(seen > 0);
}
