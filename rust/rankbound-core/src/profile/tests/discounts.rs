//! The float32 pre-filter against the transformed matrix, to the last bit.

use half::f16;

use super::*;
use crate::kernel::Prefilter;

/// Labelled rows; a power of two, so that base rates are exact even in float32.
const N_LABELLED: u64 = 1 << 24;

/// What makes a row hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Scores over base rates are nearly equal, or exactly.
    NearTies,
    ExactTies,
    MostlyZeros,
    Subnormal,
    Huge,
    WideRange,
    /// The truth is among thousands of neighbouring floats.
    Neighbours,
}

const KINDS: [Kind; 8] = [
    Kind::Plain,
    Kind::NearTies,
    Kind::ExactTies,
    Kind::MostlyZeros,
    Kind::Subnormal,
    Kind::Huge,
    Kind::WideRange,
    Kind::Neighbours,
];

impl Kind {
    #[expect(clippy::cast_possible_truncation, reason = "rounded to float32")]
    fn score(self, class: usize, count: u64, transform: &Transform, dice: &mut Dice) -> f32 {
        let uniform = dice.below(1 << 24) as f32 / (1 << 24) as f32;
        let rate = count.max(1) as f32 / N_LABELLED as f32;
        let power = |exponent: usize| (-(exponent as f32)).exp2();
        match self {
            Self::NearTies => {
                // Just below a power of two, where float32 has the fewest digits.
                let score = untransformed(transform, class, 1.98).clamp(0.0, 1.0);
                f32::from_bits((score as f32).to_bits() + dice.column(6))
            }
            Self::ExactTies => rate * power(dice.below(3)),
            Self::MostlyZeros if dice.percent(95) => [0.0, -0.0][dice.below(2)],
            Self::Plain | Self::MostlyZeros => uniform,
            Self::Subnormal => f32::from_bits(dice.column(1 << 14)),
            Self::Huge => [1e30, 3e38, 1e38, 2e37][dice.below(4)] * uniform,
            Self::WideRange => uniform * power(dice.below(120)),
            Self::Neighbours => f32::from_bits(0.25_f32.to_bits() + dice.column(50)),
        }
    }
}

/// The score that a transform turns into about `value`.
fn untransformed(transform: &Transform, class: usize, value: f64) -> f64 {
    let Transform::Rates(rates) = transform else { return value / 4.0 };
    let shrunk = rates.divisor.as_ref().map_or(value / 4.0, |divisor| value * divisor[class]);
    match &rates.shrinkage {
        Some(shrinkage) if shrinkage.z[class] > 0.0 => {
            let (pi, z) = (shrinkage.pi[class], shrinkage.z[class]);
            pi + (shrunk - pi) / z
        }
        _ => shrunk,
    }
}

struct Lists<E> {
    cells: Array2<E>,
    truths: Vec<Option<u32>>,
    starts: Vec<i64>,
    columns: Vec<u32>,
    neg_inf: bool,
    k: usize,
}

fn draw<E: Cell<Native = f32>>(
    kind: Kind,
    counts: &[u64],
    transform: &Transform,
    limit: f32,
    of: fn(f32) -> E,
    dice: &mut Dice,
) -> Lists<E> {
    let (n_rows, n_classes) = (6, counts.len());
    let neg_inf = dice.percent(30);
    let cells = Array2::from_shape_fn((n_rows, n_classes), |(_, class)| {
        if neg_inf && dice.percent(20) {
            return of(f32::NEG_INFINITY);
        }
        of(kind.score(class, counts[class], transform, dice).min(limit))
    });
    let best = |row: usize| {
        let larger = |best: usize, class: usize| {
            let better = cells[(row, class)].widen().unwrap() > cells[(row, best)].widen().unwrap();
            if better { class } else { best }
        };
        u32::try_from((0..n_classes).fold(0, larger)).unwrap()
    };
    let truths = (0..n_rows).map(|row| match row {
        0 => None,
        1 | 2 => Some(best(row)),
        _ => Some(dice.column(n_classes)),
    });
    let truths = truths.collect();
    let (mut starts, mut columns) = (vec![0], vec![]);
    for _ in 0..n_rows {
        if dice.percent(30) {
            columns.extend((0..u32::try_from(n_classes).unwrap()).filter(|_| dice.percent(10)));
        }
        starts.push(i64::try_from(columns.len()).unwrap());
    }
    let most = [3, 12, 30][dice.below(3)];
    let k = 1 + dice.below(most);
    Lists { cells, truths, starts, columns, neg_inf, k }
}

/// Compares both ways to rank and returns how many rows the pre-filter settled, and how many not.
fn compare<E: Cell<Native = f32>>(lists: &Lists<E>, transform: &Transform) -> [usize; 2] {
    let (n_rows, n_classes) = lists.cells.dim();
    let widened = lists.cells.map(|cell| cell.widen().unwrap());
    let mut transformed = Array2::zeros((n_rows, n_classes));
    let exclude = Exclusion::new(&lists.starts, &lists.columns, n_rows, n_classes).unwrap();
    let masks = Masks { exclude: Some(exclude), neg_inf: lists.neg_inf };
    let mut settled = [0, 0];
    for (row, mut out) in transformed.rows_mut().into_iter().enumerate() {
        let scores = widened.row(row);
        transform.apply_row(row, scores.as_slice().unwrap(), out.as_slice_mut().unwrap()).unwrap();
        let Transform::Rates(rates) = transform else { continue };
        let mut candidates = scores.to_vec();
        exclude.visit((row, row), 0..n_classes, |at| candidates[at] = f32::NEG_INFINITY);
        let masked = candidates.contains(&f32::NEG_INFINITY);
        let truth = lists.truths[row].filter(|&truth| candidates[truth as usize] >= 0.0);
        let prefilter = Prefilter::new(rates, n_classes, lists.k);
        let is_settled = prefilter.is_some_and(|prefilter| prefilter.settles(&candidates, truth, masked, lists.k));
        settled[usize::from(!is_settled)] += 1;
    }
    let rankers = [Transform::Identity, transform.clone()].map(Ranker::Model);
    let whole = scan_rows(&transformed, &lists.truths, &rankers[..1], lists.k, masks, 1).unwrap();
    let filtered = scan_rows(&lists.cells, &lists.truths, &rankers[1..], lists.k, masks, 1).unwrap();
    assert_same(&filtered.blocks[0], &whole.blocks[0]);
    // The ranker before may leave something behind that the next one uses.
    let after = scan_rows(&lists.cells, &lists.truths, &rankers, lists.k, masks, 1).unwrap();
    assert_same(&after.blocks[1], &whole.blocks[0]);
    assert_eq!(filtered.n_candidates, whole.n_candidates);
    assert_eq!(filtered.uniform.exposure(), whole.uniform.exposure());
    settled
}

fn draw_counts(n_classes: usize, dice: &mut Dice) -> (Vec<u64>, Vec<bool>) {
    let count = |dice: &mut Dice| {
        let size = 10_usize.pow(1 + dice.column(6));
        [0, N_LABELLED / 2, 1 + dice.below(size) as u64][dice.below(10).min(2)]
    };
    let counts = (0..n_classes).map(|_| count(dice)).collect();
    (counts, (0..n_classes).map(|_| dice.percent(5)).collect())
}

#[test]
fn filtered_and_whole_rows_rank_alike() {
    let mut settled_by_kind = [[0, 0]; KINDS.len()];
    for seed in 0..640 {
        let mut dice = Dice::new(seed);
        let kind = KINDS[dice.below(KINDS.len())];
        let n_classes = [65, 130, 400, 1000, 4200][dice.below(5)] + dice.below(64);
        let (mut counts, dead) = draw_counts(n_classes, &mut dice);
        if kind == Kind::Neighbours {
            counts.fill(1000); // as if the discount did nothing
        }
        let mut alpha = [0.0, 0.25, 0.5, 1.0, 1.0, 2.0][dice.below(6)];
        let mut strength = [0.0, 0.0, 1e-12, 1e-6, 50.0, 1e6][dice.below(6)];
        if kind == Kind::ExactTies && dice.percent(80) {
            (alpha, strength) = (1.0, 0.0); // only so they tie
        }
        let transform = Transform::rates(&counts, N_LABELLED, &dead, alpha, strength).unwrap();
        let limit = if strength > 0.0 { 1.0 } else { f32::MAX };
        let settled = if dice.percent(90) {
            compare(&draw(kind, &counts, &transform, limit, |score: f32| score, &mut dice), &transform)
        } else {
            compare(&draw(kind, &counts, &transform, limit.min(65504.0), f16::from_f32, &mut dice), &transform)
        };
        let index = KINDS.iter().position(|other| *other == kind).unwrap();
        settled_by_kind[index].iter_mut().zip(settled).for_each(|(sum, here)| *sum += here);
    }
    // Both ways are taken whatever makes the rows hard, except where float32 has no digits left.
    for (kind, [filtered, whole]) in KINDS.iter().zip(settled_by_kind) {
        assert!(whole >= 20, "{kind:?}: {filtered} and {whole}");
        assert!(filtered >= 20 || *kind == Kind::Subnormal, "{kind:?}: {filtered} and {whole}");
    }
}

/// With hardly any shrinkage `pi + Z (s - pi)` is `(0.5 + s) - 0.5`, which rounds to 0 for small `s`
/// where the sum of two float32 products does not.
#[test]
fn cancellation_in_the_transform_is_not_filtered_away() {
    let mut cells = Array2::from_elem((1, 200), 0.0_f32);
    cells[(0, 0)] = 1e-18;
    cells[(0, 1)] = 1e-20;
    let mut counts = vec![1; 200];
    counts[0] = N_LABELLED / 2;
    let transform = Transform::rates(&counts, N_LABELLED, &[false; 200], 0.0, 1e-12).unwrap();
    let truths = vec![Some(1)];
    let lists = Lists { cells, truths, starts: vec![0, 0], columns: vec![], neg_inf: false, k: 1 };
    compare(&lists, &transform);
}
