//! What the top K of many rows does to the catalogue: expected exposure and coverage per class.

use super::exposure::{Exposure, ExposureSums};
use super::fixed::{Fixed, LIMB_BITS};
use crate::kernel::{BLOCK, Cut, Kernel, TopK, column};

/// What a class gains from rows whose cut splits its tie group: the sum of its inclusion
/// probabilities `s / t` and of `ln(1 - s / t)`, each a [`Fixed`] in two limbs, low then high.
///
/// Four 64-bit lanes are added in one vector operation, where a 128-bit integer needs a carry.
type Share = [i64; 4];

/// Rows that may be added before the low limbs hand their carries on: each adds less than 2^50, and
/// there is room for 2^13 of that. The high limbs, of which a row adds less than 2^36,
/// have room for 2^27 rows.
const ROWS_BETWEEN_CARRIES: u32 = 8000;

/// Order-free sums, per class, of the probability of being in the top K of a row.
///
/// A row contributes 1 to the classes above its cut and `s / t` to the group at the cut; all other
/// classes get nothing. A class is unseen with probability `prod (1 - p)`, kept as a sum of logs,
/// rows breaking their ties independently.
#[derive(Debug, Clone)]
pub struct CatalogueSums {
    /// Rows in which the class is in the top K by every order of its ties.
    certain: Vec<i64>,
    share: Vec<Share>,
    // What whole blocks, or all classes, gain together, so that a tie group of thousands of classes
    // is added in a few steps.
    block_share: Vec<Share>,
    all_share: Share,
    all_certain: i64,
    rows_since_carry: u32,
    last: Option<((u32, u32), Share)>,
}

impl CatalogueSums {
    /// Sums over no rows.
    pub fn new(n_classes: usize) -> Self {
        Self {
            certain: vec![0; n_classes],
            share: vec![[0; 4]; n_classes],
            block_share: vec![[0; 4]; n_classes.div_ceil(BLOCK)],
            all_share: [0; 4],
            all_certain: 0,
            rows_since_carry: 0,
            last: None,
        }
    }

    /// Adds the top K of one row.
    pub(crate) fn add_top<T: Kernel>(&mut self, row: &[T], top: &TopK<T>) {
        for &class in &top.above {
            self.certain[class as usize] += 1;
        }
        let Some(Cut { value, size, slots }) = top.cut else { return };
        let share = if slots == size { None } else { Some(self.share_of(slots, size)) };
        for &(block, tied) in &top.tied_blocks {
            let first = block * BLOCK;
            let scores = &row[first..row.len().min(first + BLOCK)];
            let Some(share) = share else {
                // At most K classes.
                Members::of(scores, |score| score == value).for_each(|at| self.certain[first + at] += 1);
                continue;
            };
            let classes = &mut self.share[first..];
            if tied as usize > scores.len() / 2 {
                // The whole block gets the share, and the few that stand apart give it back.
                add(&mut self.block_share[block], &share);
                let opposite = share.map(|limb| -limb);
                Members::of(scores, |score| score != value).for_each(|at| add(&mut classes[at], &opposite));
            } else {
                Members::of(scores, |score| score == value).for_each(|at| add(&mut classes[at], &share));
            }
        }
    }

    /// Adds the top K of one row, given the members of the group at the cut.
    pub(crate) fn add_listed(&mut self, above: &[u32], members: &[u32], slots: usize) {
        let (slots, size) = (column(slots), column(members.len()));
        let certain = above.iter().chain(if slots == size { members } else { &[] });
        certain.for_each(|&class| self.certain[class as usize] += 1);
        if slots < size {
            let share = self.share_of(slots, size);
            members.iter().for_each(|&class| add(&mut self.share[class as usize], &share));
        }
    }

    /// Adds one row in which all classes but the `masked` ones tie: a ranker without preference.
    pub(crate) fn add_uniform(&mut self, masked: &[u32], k: usize) {
        let size = column(self.certain.len() - masked.len());
        let slots = column(k.min(size as usize));
        if slots == size {
            self.all_certain += 1;
            masked.iter().for_each(|&class| self.certain[class as usize] -= 1);
        } else {
            let share = self.share_of(slots, size);
            add(&mut self.all_share, &share);
            let opposite = share.map(|limb| -limb);
            masked.iter().for_each(|&class| add(&mut self.share[class as usize], &opposite));
        }
    }

    /// Adds the sums over other rows.
    pub fn merge(&mut self, other: &Self) {
        self.certain.iter_mut().zip(&other.certain).for_each(|(mine, theirs)| *mine += theirs);
        self.all_certain += other.all_certain;
        // Both sides carry first, so that two small low limbs meet.
        let mut other = other.clone();
        self.carry();
        other.carry();
        self.share.iter_mut().zip(&other.share).for_each(|(mine, theirs)| add(mine, theirs));
        self.block_share.iter_mut().zip(&other.block_share).for_each(|(mine, theirs)| add(mine, theirs));
        add(&mut self.all_share, &other.all_share);
        self.carry();
    }

    /// The expectations, per class.
    pub fn exposure(&self) -> Exposure {
        self.sums().exposure()
    }

    /// The same sums, class by class, to be kept and merged at rest.
    #[expect(clippy::missing_panics_doc, reason = "counts of rows are not negative")]
    pub fn sums(&self) -> ExposureSums {
        let one = Fixed::from_f64(1.0);
        let sum = |class: usize, limb: usize| -> Fixed {
            let shares = [self.share[class], self.block_share[class / BLOCK], self.all_share];
            shares.map(|share| Fixed::from_limbs(share[limb], share[limb + 1])).into_iter().sum()
        };
        let mut sums = ExposureSums::new(self.certain.len());
        for (class, &certain) in self.certain.iter().enumerate() {
            let certain = u64::try_from(certain + self.all_certain).expect("no class is shown fewer than 0 times");
            sums.certain[class] = certain;
            sums.expected[class] = one.times(certain) + sum(class, 0);
            sums.unseen[class] = sum(class, 2);
        }
        sums
    }

    /// The share of a row whose cut leaves `slots` places to a group of `size`. Remembered, because
    /// neighbouring rows often split alike.
    fn share_of(&mut self, slots: u32, size: u32) -> Share {
        self.rows_since_carry += 1;
        if self.rows_since_carry > ROWS_BETWEEN_CARRIES {
            self.carry();
        }
        match self.last {
            Some((split, share)) if split == (slots, size) => share,
            _ => {
                let inclusion = f64::from(slots) / f64::from(size);
                let [low, high] = Fixed::from_f64(inclusion).limbs();
                let [log_low, log_high] = Fixed::from_f64(libm::log1p(-inclusion)).limbs();
                let share = [low, high, log_low, log_high];
                self.last = Some(((slots, size), share));
                share
            }
        }
    }

    fn carry(&mut self) {
        for [low, high, log_low, log_high] in
            self.share.iter_mut().chain(&mut self.block_share).chain([&mut self.all_share])
        {
            carry(low, high);
            carry(log_low, log_high);
        }
        self.rows_since_carry = 0;
    }
}

/// Positions in a block whose score belongs to a group.
struct Members {
    positions: [u8; BLOCK],
    count: usize,
}

impl Members {
    fn of<T: Copy>(scores: &[T], belongs: impl Fn(T) -> bool) -> Self {
        let (mut positions, mut count) = ([0; BLOCK], 0);
        let mut at = 0_u8;
        for chunk in scores.chunks(8) {
            if chunk.iter().fold(false, |any, &score| any | belongs(score)) {
                // Every position is written and only those that belong are kept: no branch to
                // mispredict.
                for (position, &score) in (at..).zip(chunk) {
                    positions[count] = position;
                    count += usize::from(belongs(score));
                }
            }
            at += 8;
        }
        Self { positions, count }
    }

    fn for_each(&self, visit: impl FnMut(usize)) {
        self.positions[..self.count].iter().copied().map(usize::from).for_each(visit);
    }
}

fn add(sum: &mut Share, share: &Share) {
    sum.iter_mut().zip(share).for_each(|(sum, share)| *sum += share);
}

/// Moves what does not fit the low limb to the high one.
fn carry(low: &mut i64, high: &mut i64) {
    *high += *low >> LIMB_BITS;
    *low &= (1 << LIMB_BITS) - 1;
}
