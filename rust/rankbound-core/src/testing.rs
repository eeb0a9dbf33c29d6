//! Inputs and expectations that the tests of several modules share.

use std::fmt::Debug;

use half::f16;
use ndarray::{Array2, Axis, ShapeBuilder, Slice};

use crate::aggregate::{Exposure, Fixed};
use crate::input::{Element, Targets};
use crate::kernel::Kernel;
use crate::profile::{Placement, Profiles, RelevantItem};

/// Random numbers from a seed (`SplitMix64`), for matrices too large to shrink cell by cell.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % n as u64).expect("below a usize")
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn column(&mut self, n_classes: usize) -> u32 {
        u32::try_from(self.below(n_classes)).expect("a column")
    }
}

/// No lists yet, to which lists with grades and items can be added.
pub(crate) fn graded_profiles() -> Profiles {
    Profiles::of(&Targets::new(&[0], &[], Some(&[]), 0).expect("well formed").keeping_items(true))
}

/// A relevant item of which only the grade matters.
pub(crate) fn graded(grade: f64) -> RelevantItem {
    RelevantItem { item: 0, grade }
}

/// A matrix element with a scale of scores, and a value that the oracle compares by itself.
pub(crate) trait Cell: Element<Native: Kernel> + Debug {
    type Value: PartialOrd + Copy + Debug;
    /// What `neg_inf` masks.
    const MASK: Option<Self>;

    /// A score that rises with its level. Level 2 is a zero of either sign where there are two.
    fn level(level: usize, dice: &mut Dice) -> Self;

    fn value(self) -> Self::Value;
}

/// Low levels are coarse, higher ones are neighbouring floats.
const FINE: usize = 40;

macro_rules! float_cell {
    ($($float:ty, $bits:ty, $of:expr;)*) => {$(
        impl Cell for $float {
            type Value = f64;
            const MASK: Option<Self> = Some(Self::NEG_INFINITY);

            fn level(level: usize, dice: &mut Dice) -> Self {
                let of: fn(f32) -> $float = $of;
                if level < FINE {
                    let zero = if dice.percent(50) { 0.0 } else { -0.0 };
                    return of(if level == 2 { zero } else { (level as f32 - 2.0) * 0.125 });
                }
                <$float>::from_bits(of(5.0).to_bits() + <$bits>::try_from(level).expect("a low level"))
            }

            fn value(self) -> f64 {
                self.into()
            }
        }
    )*};
}

float_cell! {
    f32, u32, |value| value;
    f64, u64, f64::from;
    f16, u16, f16::from_f32;
}

macro_rules! integer_cell {
    ($($integer:ty, $lowest:expr;)*) => {$(
        impl Cell for $integer {
            type Value = i128;
            const MASK: Option<Self> = None;

            fn level(level: usize, _dice: &mut Dice) -> Self {
                $lowest + Self::try_from(level % 255).expect("fits eight bits but the sign")
            }

            fn value(self) -> i128 {
                self.into()
            }
        }
    )*};
}

// The wide ones sit where doubles would merge neighbours.
integer_cell! {
    u8, 0;
    i16, -30_000;
    u16, 60_000;
    i32, i32::MIN;
    u32, u32::MAX - 255;
    i64, i64::MAX - 255;
    u64, (1 << 62) + 1;
}

impl Cell for i8 {
    type Value = i128;
    const MASK: Option<Self> = None;

    fn level(level: usize, _dice: &mut Dice) -> Self {
        Self::try_from(level % 255).unwrap_or(Self::MIN)
    }

    fn value(self) -> i128 {
        self.into()
    }
}

/// How a matrix lies in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layout {
    Rows,
    Columns,
    RowsReversed,
    ColumnsReversed,
    WideRows,
    SparseColumns,
}

impl Layout {
    pub(crate) const ALL: [Self; 6] =
        [Self::Rows, Self::Columns, Self::RowsReversed, Self::ColumnsReversed, Self::WideRows, Self::SparseColumns];

    /// The same matrix, stored this way.
    pub(crate) fn store<E: Copy>(self, cells: &Array2<E>) -> Array2<E> {
        let (n_rows, n_classes) = cells.dim();
        match self {
            Self::Rows => cells.clone(),
            Self::Columns => Array2::from_shape_fn((n_rows, n_classes).f(), |at| cells[at]),
            Self::RowsReversed => reversed(cells, Axis(0)),
            Self::ColumnsReversed => reversed(cells, Axis(1)),
            Self::WideRows => {
                let wide = (2 * n_rows, n_classes + 3);
                let mut stored =
                    Array2::from_shape_fn(wide, |(row, column)| cells[(row / 2, column.clamp(1, n_classes) - 1)]);
                stored.slice_axis_inplace(Axis(0), Slice::from(..).step_by(2));
                stored.slice_axis_inplace(Axis(1), Slice::from(1..=n_classes));
                stored
            }
            Self::SparseColumns => {
                let wide = (n_rows, 2 * n_classes);
                let mut stored = Array2::from_shape_fn(wide, |(row, column)| cells[(row, column / 2)]);
                stored.slice_axis_inplace(Axis(1), Slice::from(..).step_by(2));
                stored
            }
        }
    }
}

fn reversed<E: Copy>(cells: &Array2<E>, axis: Axis) -> Array2<E> {
    let mut view = cells.view();
    view.invert_axis(axis);
    let mut stored = Array2::from_shape_fn(view.dim(), |at| view[at]);
    stored.invert_axis(axis);
    stored
}

/// Where the truth stands and with how many slots (`s`) of how many members (`t`) each class is in
/// the top K, by counting. Classes without a score are no candidates.
pub(crate) fn rank<V: PartialOrd + Copy>(
    scores: &[Option<V>],
    truth: Option<u32>,
    k: usize,
) -> (Placement, Vec<(usize, usize)>) {
    let candidates: Vec<V> = scores.iter().copied().flatten().collect();
    let stands = |score: V| {
        let better = candidates.iter().filter(|other| **other > score).count();
        (better, candidates.iter().filter(|other| **other == score).count())
    };
    let inclusion = |score: &Option<V>| {
        let (better, tied) = score.map_or((0, 0), stands);
        (k.saturating_sub(better).min(tied), tied)
    };
    let placement = truth.and_then(|truth| scores[truth as usize]).map_or(Placement::MISS, |score| {
        let [better, tied] = <[usize; 2]>::from(stands(score)).map(|count| u32::try_from(count).expect("a count"));
        Placement { better, tied }
    });
    (placement, scores.iter().map(inclusion).collect())
}

/// The same over candidates that all tie.
pub(crate) fn rank_uniform<V>(scores: &[Option<V>], k: usize) -> Vec<(usize, usize)> {
    let n_candidates = scores.iter().flatten().count();
    let inclusion = |score: &Option<V>| score.as_ref().map_or((0, 0), |_| (k.min(n_candidates), n_candidates));
    scores.iter().map(inclusion).collect()
}

/// Catalogue sums, one inclusion probability after the other.
pub(crate) struct PlainSums(Vec<(Fixed, Fixed, bool)>);

impl PlainSums {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self(vec![(Fixed::default(), Fixed::default(), false); n_classes])
    }

    /// Adds a row; returns whether its top K depends on the order of ties.
    pub(crate) fn add(&mut self, inclusion: &[(usize, usize)]) -> bool {
        for ((expected, unseen, certain), &(slots, tied)) in self.0.iter_mut().zip(inclusion) {
            if slots > 0 && slots == tied {
                *expected += Fixed::from_f64(1.0);
                *certain = true;
            } else if slots > 0 {
                let probability = slots as f64 / tied as f64;
                *expected += Fixed::from_f64(probability);
                *unseen += Fixed::from_f64(libm::log1p(-probability));
            }
        }
        inclusion.iter().any(|&(slots, tied)| 0 < slots && slots < tied)
    }

    pub(crate) fn exposure(&self) -> Exposure {
        let seen = |&(_, unseen, certain): &(Fixed, Fixed, bool)| {
            if certain { 1.0 } else { 0.0 - libm::expm1(unseen.to_f64()) }
        };
        Exposure {
            expected: self.0.iter().map(|(expected, ..)| expected.to_f64()).collect(),
            seen: self.0.iter().map(seen).collect(),
        }
    }
}

/// All orders of `0..n`.
pub(crate) fn orders(n: usize) -> Vec<Vec<usize>> {
    (0..n).fold(vec![vec![]], |shorter, last| {
        let insert = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=last).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, last);
                longer
            })
        };
        shorter.iter().flat_map(insert).collect()
    })
}
