use super::*;
use crate::testing::{Dice, PlainSums, rank};

/// One row in one of the three ways in which rows are added.
fn add_row(sums: &mut CatalogueSums, plain: &mut PlainSums, n_classes: usize, dice: &mut Dice) {
    let k = 1 + dice.below(n_classes + 2);
    let all_alike = dice.below(3) == 0;
    let mut row: Vec<f64> = (0..n_classes).map(|_| if all_alike { 1.0 } else { dice.below(3) as f64 }).collect();
    let masked: Vec<usize> = (1..n_classes).filter(|_| dice.percent(20)).collect();
    for &class in &masked {
        row[class] = f64::NEG_INFINITY;
    }
    let scores: Vec<_> = row.iter().map(|&score| score.is_finite().then_some(score)).collect();
    let (_, inclusion) = rank(&scores, None, k);
    plain.add(&inclusion);
    let list = |listed: &dyn Fn(&(usize, usize)) -> bool| -> Vec<u32> {
        (0..n_classes).filter(|class| listed(&inclusion[*class])).map(column).collect()
    };
    match dice.below(2) {
        0 if all_alike => {
            let masked: Vec<u32> = masked.into_iter().map(column).collect();
            sums.add_uniform(&masked, k);
        }
        0 => {
            let above = list(&|(slots, tied)| slots == tied && *slots > 0);
            let members = list(&|(slots, tied)| slots < tied && *slots > 0);
            let slots = inclusion.iter().find(|(slots, tied)| slots < tied && *slots > 0);
            sums.add_listed(&above, &members, slots.map_or(0, |(slots, _)| *slots));
        }
        _ => {
            let (mut maxima, mut top) = (vec![], TopK::default());
            f64::block_pass(&row, row[0], &mut maxima);
            top.find(&row, &maxima, k, true);
            sums.add_top(&row, &top);
        }
    }
}

/// Any mix of rows, merged at any time, against 128-bit integers.
#[test]
fn sums_are_exact_whatever_is_added_and_merged() {
    for (seed, n_classes, n_rows) in
        (0..30_u8).map(|seed| (u64::from(seed), 1 + usize::from(seed) * 7, 400)).chain([(99, 64, 3000), (98, 3, 3000)])
    {
        let mut dice = Dice::new(seed);
        let mut parts = [(); 3].map(|()| CatalogueSums::new(n_classes));
        let mut plain = PlainSums::new(n_classes);
        for _ in 0..n_rows {
            let part = if seed % 2 == 0 { 0 } else { dice.below(3) };
            add_row(&mut parts[part], &mut plain, n_classes, &mut dice);
            if dice.below(100) == 0 {
                let taken = std::mem::replace(&mut parts[part], CatalogueSums::new(n_classes));
                parts[(part + 1) % 3].merge(&taken);
            }
        }
        let [mut whole, second, third] = parts;
        whole.merge(&third);
        whole.merge(&second);
        assert_eq!(whole.exposure(), plain.exposure(), "seed {seed}");
    }
}

/// Seven of eight classes share three places, or one: more rows than the low limbs could hold.
#[test]
fn low_limbs_never_overflow() {
    let row = [2.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let mut plain = PlainSums::new(8);
    let mut all = [(); 3].map(|()| CatalogueSums::new(8));
    let [masked, listed, uniform] = &mut all;
    let (mut maxima, mut top) = (vec![], TopK::default());
    f64::block_pass(&row, row[0], &mut maxima);
    top.find(&row, &maxima, 3, false);
    for _ in 0..8 * ROWS_BETWEEN_CARRIES {
        masked.add_top(&row, &top);
        listed.add_listed(&[], &[0, 2, 3, 4, 5, 6, 7], 3);
        uniform.add_uniform(&[1], 3);
        plain.add(&[(3, 7), (0, 1), (3, 7), (3, 7), (3, 7), (3, 7), (3, 7), (3, 7)]);
    }
    for sums in all {
        assert_eq!(sums.exposure(), plain.exposure());
    }
}

/// Two sums that each hold as many rows as they may before a carry.
#[test]
fn merged_low_limbs_do_not_overflow() {
    let low_limb = |size: &u32| Fixed::from_f64(1.0 / f64::from(*size)).limbs()[0];
    let size = (3..1000).max_by_key(low_limb).unwrap();
    assert!(low_limb(&size) > (1 << LIMB_BITS) / 10 * 9);
    let mut parts = [(); 2].map(|()| CatalogueSums::new(size as usize));
    let mut plain = PlainSums::new(size as usize);
    for row in 0..2 * ROWS_BETWEEN_CARRIES {
        parts[row as usize % 2].add_uniform(&[], 1);
        plain.add(&vec![(1, size as usize); size as usize]);
    }
    let [mut whole, other] = parts;
    whole.merge(&other);
    assert_eq!(whole.exposure(), plain.exposure());
}

#[test]
fn nothing_added_is_nothing_shown() {
    let exposure = CatalogueSums::new(2).exposure();
    assert_eq!(exposure, Exposure { expected: vec![0.0; 2], seen: vec![0.0; 2] });
    assert!(exposure.seen.iter().all(|seen| seen.is_sign_positive()));
}

/// A class shown with probability 1e-9 by each of a thousand rows: no digit is lost.
#[test]
fn rare_classes_keep_their_digits() {
    let mut sums = CatalogueSums::new(1);
    let share = [1e-9, libm::log1p(-1e-9)].map(|value| Fixed::from_f64(value).limbs());
    for _ in 0..1000 {
        sums.share_of(1, 2); // counts the row
        sums.add_to_class(0, &[share[0][0], share[0][1], share[1][0], share[1][1]]);
    }
    assert!((sums.exposure().seen[0] / 9.999_995_005_001_662e-7 - 1.0).abs() < 1e-12);
}
