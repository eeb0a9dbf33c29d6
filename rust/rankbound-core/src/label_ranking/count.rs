//! Pairs of labels that two rankings order in opposite ways, or tie.

use multiversion::multiversion;

use super::rankings::Rankings;
use crate::error::{Error, Result};

/// Keys whose spread is at most this many times the number of labels are sorted by counting.
const MAX_SPREAD: usize = 4;

/// Numbers of pairs of labels; all other pairs are concordant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PairCounts {
    /// Ordered in opposite ways.
    pub(super) discordant: u64,
    /// Tied in one ranking and ordered by the other.
    pub(super) tied_in_one: u64,
    /// Tied in both rankings.
    pub(super) tied_in_both: u64,
}

/// Counts in O(m log m) (Knight 1966, with a set of places instead of merges).
#[derive(Debug, Default)]
pub(super) struct PairCounter {
    keys: Vec<i64>,
    order: Vec<u32>,
    y_true: Groups,
    y_pred: Groups,
    next: Vec<u32>,
    by_pred: Vec<u32>,
    by_both: Vec<u32>,
    taken: PlaceSet,
}

impl PairCounter {
    /// Takes in a row of both matrices.
    pub(super) fn read(
        &mut self,
        y_true: &dyn Rankings,
        y_pred: &dyn Rankings,
        row: usize,
        refuse_ties: bool,
    ) -> Result<()> {
        for (rankings, groups, name) in [(y_true, &mut self.y_true, "y_true"), (y_pred, &mut self.y_pred, "y_pred")] {
            rankings.read(row, name, &mut self.keys)?;
            groups.set(&self.keys, &mut self.order);
            if refuse_ties && groups.tied_pairs > 0 {
                let columns = groups.first_tie().expect("some pairs tie");
                return Err(Error::TiedRanking { name, row, value: rankings.show(row, columns[0]), columns });
            }
        }
        Ok(())
    }

    /// Counts the pairs of the row taken in last.
    pub(super) fn count(&mut self) -> PairCounts {
        let n_labels = self.y_true.codes.len();
        self.y_pred.sort(0..column(n_labels), &mut self.next, &mut self.by_pred);
        self.y_true.sort(self.by_pred.iter().copied(), &mut self.next, &mut self.by_both);
        self.next.clone_from(&self.y_pred.starts);
        self.taken.clear(n_labels);
        let codes = [&self.y_true.codes[..], &self.y_pred.codes];
        let (not_discordant, tied_in_both) = place_labels(&self.by_both, codes, &mut self.next, &mut self.taken);
        PairCounts {
            discordant: pairs(n_labels as u64) - not_discordant,
            tied_in_one: self.y_true.tied_pairs + self.y_pred.tied_pairs - 2 * tied_in_both,
            tied_in_both,
        }
    }
}

/// Places the labels, which come by `y_true` and by `y_pred` among equals. Each takes the next place of
/// its group in `y_pred`: the earlier ones at later places are those it is discordant with.
///
/// Returns how many pairs are not discordant, and how many tie in both rankings.
#[multiversion(targets("x86_64+popcnt"))]
fn place_labels(labels: &[u32], [y_true, y_pred]: [&[u32]; 2], next: &mut [u32], taken: &mut PlaceSet) -> (u64, u64) {
    let (words, tree) = (&mut taken.words[..], &mut taken.tree[..]);
    let (mut not_discordant, mut tied_in_both) = (0, 0);
    let (mut previous, mut n_equal) = (None, 0);
    for &label in labels {
        let codes = (y_true[label as usize], y_pred[label as usize]);
        n_equal = if previous == Some(codes) { n_equal + 1 } else { 0 };
        previous = Some(codes);
        tied_in_both += n_equal;
        let place = &mut next[codes.1 as usize];
        not_discordant += u64::from(insert(words, tree, *place));
        *place += 1;
    }
    (not_discordant, tied_in_both)
}

/// Labels by position: those that tie share a code, and codes rise with positions.
#[derive(Debug, Default)]
struct Groups {
    codes: Vec<u32>,
    /// Number of labels with a lower code, for every code and one beyond.
    starts: Vec<u32>,
    /// Pairs of labels that tie.
    tied_pairs: u64,
}

impl Groups {
    /// Groups the labels of one ranking; `order` is a buffer.
    fn set(&mut self, keys: &[i64], order: &mut Vec<u32>) {
        let (least, most) =
            keys.iter().fold((i64::MAX, i64::MIN), |(least, most), &key| (key.min(least), key.max(most)));
        self.codes.clear();
        self.starts.clear();
        match u32::try_from(most.abs_diff(least)) {
            Ok(spread) if spread as usize / MAX_SPREAD < keys.len() => self.group_by_counting(keys, least, spread),
            _ => self.group_by_sorting(keys, order),
        }
        // So far every start but the first holds the size of the group before it.
        let ties = self.starts.iter().filter(|&&size| size > 1);
        self.tied_pairs = ties.map(|&size| pairs(u64::from(size))).sum();
        let mut before = 0;
        for start in &mut self.starts {
            before += *start;
            *start = before;
        }
    }

    /// Takes the distances from the least key as codes.
    #[expect(clippy::cast_possible_truncation, reason = "the spread fits 32 bits")]
    fn group_by_counting(&mut self, keys: &[i64], least: i64, spread: u32) {
        self.starts.resize(spread as usize + 2, 0);
        self.codes.extend(keys.iter().map(|key| key.abs_diff(least) as u32));
        self.codes.iter().for_each(|&code| self.starts[code as usize + 1] += 1);
    }

    fn group_by_sorting(&mut self, keys: &[i64], order: &mut Vec<u32>) {
        let key = |label: u32| keys[label as usize];
        order.clear();
        order.extend(0..column(keys.len()));
        order.sort_unstable_by_key(|&label| key(label));
        self.codes.resize(keys.len(), 0);
        self.starts.push(0);
        for tied in order.chunk_by(|&a, &b| key(a) == key(b)) {
            let code = column(self.starts.len() - 1);
            tied.iter().for_each(|&label| self.codes[label as usize] = code);
            self.starts.push(column(tied.len()));
        }
    }

    /// The first label that ties with a later one, and the first it ties with.
    fn first_tie(&self) -> Option<[usize; 2]> {
        let size = |code: usize| self.starts[code + 1] - self.starts[code];
        let first = self.codes.iter().position(|&code| size(code as usize) > 1)?;
        let second = (first + 1..self.codes.len()).find(|&label| self.codes[label] == self.codes[first])?;
        Some([first, second])
    }

    /// Sorts labels by code, equal ones in the order they come in; `next` is a buffer.
    fn sort(&self, labels: impl Iterator<Item = u32>, next: &mut Vec<u32>, sorted: &mut Vec<u32>) {
        next.clone_from(&self.starts);
        sorted.resize(self.codes.len(), 0);
        let (next, sorted) = (&mut next[..], &mut sorted[..]);
        for label in labels {
            let place = &mut next[self.codes[label as usize] as usize];
            sorted[*place as usize] = label;
            *place += 1;
        }
    }
}

/// A set of places that knows how many of its members lie below one: words of 64 bits, with a tree
/// of their counts (Fenwick 1994).
#[derive(Debug, Default)]
struct PlaceSet {
    words: Vec<u64>,
    tree: Vec<u32>,
}

impl PlaceSet {
    fn clear(&mut self, n_places: usize) {
        let n_words = n_places.div_ceil(64);
        self.words.clear();
        self.words.resize(n_words, 0);
        self.tree.clear();
        self.tree.resize(n_words + 1, 0);
    }
}

/// Adds a place; returns how many members lie below it.
#[inline(always)]
fn insert(words: &mut [u64], tree: &mut [u32], place: u32) -> u32 {
    let (word, bit) = (place as usize / 64, 1_u64 << (place % 64));
    let mut below = (words[word] & (bit - 1)).count_ones();
    words[word] |= bit;
    let mut node = word;
    while node > 0 {
        below += tree[node];
        node &= node - 1;
    }
    let mut node = word + 1;
    while node < tree.len() {
        tree[node] += 1;
        node += node & node.wrapping_neg();
    }
    below
}

fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

fn column(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 labels")
}
