//! Ids of queries and items in long tables, and a table from ids to numbers.

use std::ops::Range;

/// A column as the caller holds it, in one of two widths.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a, N, W> {
    /// 32 bits.
    Narrow(&'a [N]),
    /// 64 bits.
    Wide(&'a [W]),
}

/// Ids, or places in a list of names.
pub type Ids<'a> = Column<'a, i32, i64>;

/// Scores, ranks or grades.
pub type Values<'a> = Column<'a, f32, f64>;

impl<N: Copy + Into<W>, W: Copy> Column<'_, N, W> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(rows) => rows.len(),
            Self::Wide(rows) => rows.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds some of the rows to `output`.
    pub(crate) fn copy(&self, rows: Range<usize>, output: &mut Vec<W>) {
        match self {
            Self::Narrow(column) => output.extend(column[rows].iter().map(|&value| value.into())),
            Self::Wide(column) => output.extend_from_slice(&column[rows]),
        }
    }
}

/// What no id maps to.
const FREE: u32 = u32::MAX;

/// Numbers below 2^32 - 1 by id: open addressing with linear probing, at most half full.
#[derive(Debug, Default)]
pub(crate) struct IdTable {
    slots: Vec<(i64, u32)>,
    // The table is the first 2^bits slots; the others wait for a longer list.
    bits: u32,
    len: usize,
}

impl IdTable {
    /// Forgets everything and makes room for `n_ids` ids; more make the table grow.
    pub(crate) fn reset(&mut self, n_ids: usize) {
        let size = (2 * n_ids.max(4)).next_power_of_two();
        self.bits = size.trailing_zeros();
        self.len = 0;
        let kept = size.min(self.slots.len());
        self.slots[..kept].fill((0, FREE));
        if size > kept {
            self.slots.resize(size, (0, FREE));
        }
    }

    /// The number of an id.
    pub(crate) fn get(&self, id: i64) -> Option<u32> {
        let (_, number) = self.slots[self.find(id)];
        (number != FREE).then_some(number)
    }

    /// Gives an id a number and returns the one it had.
    pub(crate) fn insert(&mut self, id: i64, number: u32) -> Option<u32> {
        let at = self.find(id);
        let slot = &mut self.slots[at];
        if slot.1 != FREE {
            return Some(std::mem::replace(&mut slot.1, number));
        }
        *slot = (id, number);
        self.len += 1;
        if self.len > 1 << (self.bits - 1) {
            self.grow();
        }
        None
    }

    /// The slot of an id, or the free one where it would go.
    fn find(&self, id: i64) -> usize {
        // Multiplying mixes upwards only, so the high half is folded in first (Knuth, TAOCP 3, 6.4).
        let folded = id.cast_unsigned() ^ (id.cast_unsigned() >> 32);
        let mixed = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits);
        let last = (1 << self.bits) - 1;
        let mut at = usize::try_from(mixed).unwrap_or(0);
        loop {
            let (other, number) = self.slots[at];
            if number == FREE || other == id {
                return at;
            }
            at = (at + 1) & last;
        }
    }

    fn grow(&mut self) {
        let mut larger = Self::default();
        larger.reset(4 * self.len);
        for &(id, number) in self.slots[..1 << self.bits].iter().filter(|(_, number)| *number != FREE) {
            larger.insert(id, number);
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Ids that are close, far apart, extreme, or differ in high bits only.
        #[test]
        fn numbers_are_those_a_hash_map_keeps(
            drawn in prop::collection::vec((any::<i64>(), 0_u32..4), 0..400), room in 0_usize..20, warm in 0_usize..90,
        ) {
            let mut table = IdTable::default();
            table.reset(warm);
            (0..warm).for_each(|id| { table.insert(i64::try_from(id).unwrap(), 7); });
            table.reset(room);
            let mut expected = HashMap::new();
            for (number, (drawn, shape)) in (0..).zip(drawn) {
                let id = [drawn, drawn % 50, drawn << 48, i64::MIN + (drawn & 1)][shape as usize];
                prop_assert_eq!(table.get(id), expected.get(&id).copied());
                prop_assert_eq!(table.insert(id, number), expected.insert(id, number));
            }
            for (&id, &number) in &expected {
                prop_assert_eq!(table.get(id), Some(number));
            }
        }
    }
}
