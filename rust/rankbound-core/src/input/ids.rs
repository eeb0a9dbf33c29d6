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

    /// The value of a row.
    pub(crate) fn get(&self, row: usize) -> W {
        match self {
            Self::Narrow(column) => column[row].into(),
            Self::Wide(column) => column[row],
        }
    }

    /// Adds some of the rows to `output`.
    pub(crate) fn copy(&self, rows: Range<usize>, output: &mut Vec<W>) {
        match self {
            Self::Narrow(column) => output.extend(column[rows].iter().map(|&value| value.into())),
            // Rows in no order come one by one, for which a call to copy memory is slow.
            Self::Wide(column) if rows.len() == 1 => output.push(column[rows.start]),
            Self::Wide(column) => output.extend_from_slice(&column[rows]),
        }
    }
}

/// What no id maps to.
const FREE: u32 = u32::MAX;

/// Numbers below 2^32 - 1 by id: open addressing with linear probing, at most half full.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashTable {
    slots: Vec<(i64, u32)>,
    // The table is the first 2^bits slots; the others wait for a longer list.
    bits: u32,
    len: usize,
}

impl HashTable {
    /// Forgets everything and makes room for `n_ids` ids; more make the table grow.
    fn reset(&mut self, n_ids: usize) {
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
    fn get(&self, id: i64) -> Option<u32> {
        let (_, number) = self.slots[self.find(id)];
        (number != FREE).then_some(number)
    }

    /// Gives an id a number and returns the one it had.
    fn insert(&mut self, id: i64, number: u32) -> Option<u32> {
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

impl Ids<'_> {
    /// The smallest and the largest id.
    fn limits(&self) -> Option<(i64, i64)> {
        match self {
            Self::Narrow(ids) => limits(ids).map(|(least, most)| (least.into(), most.into())),
            Self::Wide(ids) => limits(ids),
        }
    }
}

fn limits<I: Copy + Ord>(ids: &[I]) -> Option<(I, I)> {
    let &first = ids.first()?;
    let (mut least, mut most) = (first, first);
    for &id in ids {
        least = least.min(id);
        most = most.max(id);
    }
    Some((least, most))
}

/// Up to this many different ids a number for each is kept, in the cache of a core.
const DIRECT: u64 = 1 << 20;

/// Numbers by id for one list after another: a place per id if ids lie close together, else hashed.
#[derive(Debug, Clone)]
pub(crate) enum IdTable {
    /// Per id from the first one on, the list that gave it a number last, and the number.
    Direct(i64, Vec<(u32, u32)>, u32),
    /// Any ids.
    Hashed(HashTable),
}

impl IdTable {
    /// An empty table for the ids of some columns, and no others.
    pub(crate) fn new(columns: &[Ids<'_>]) -> Self {
        let limits = columns.iter().filter_map(Ids::limits);
        let (first, last) = limits.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0));
        let mut table = match usize::try_from(last.abs_diff(first)) {
            Ok(width) if last.abs_diff(first) < DIRECT => Self::Direct(first, vec![(0, 0); width + 1], 0),
            _ => Self::Hashed(HashTable::default()),
        };
        table.reset(0);
        table
    }

    /// Begins another list, with room for `n_ids` ids.
    pub(crate) fn reset(&mut self, n_ids: usize) {
        match self {
            Self::Direct(_, places, list) => {
                *list = list.checked_add(1).unwrap_or_else(|| {
                    places.fill((0, 0));
                    1
                });
            }
            Self::Hashed(table) => table.reset(n_ids),
        }
    }

    /// The number of an id in this list.
    pub(crate) fn get(&self, id: i64) -> Option<u32> {
        match self {
            Self::Direct(first, places, list) => {
                let (of_list, number) = places[place_of(id, *first)];
                (of_list == *list).then_some(number)
            }
            Self::Hashed(table) => table.get(id),
        }
    }

    /// Gives an id a number and returns the one it had in this list.
    pub(crate) fn insert(&mut self, id: i64, number: u32) -> Option<u32> {
        match self {
            Self::Direct(first, places, list) => {
                let place = &mut places[place_of(id, *first)];
                let before = (place.0 == *list).then_some(place.1);
                *place = (*list, number);
                before
            }
            Self::Hashed(table) => table.insert(id, number),
        }
    }
}

fn place_of(id: i64, first: i64) -> usize {
    usize::try_from(id.wrapping_sub(first)).unwrap_or(usize::MAX)
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
            let mut table = HashTable::default();
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

        #[test]
        fn lists_do_not_see_one_another(
            lists in prop::collection::vec(prop::collection::vec(-20_i64..20, 0..30), 1..9), far in 0_i64..2,
        ) {
            let mut table = IdTable::new(&[Ids::Wide(&[19 + (far << 40)]), Ids::Narrow(&[]), Ids::Narrow(&[7, -20])]);
            prop_assert_eq!(matches!(table, IdTable::Hashed(_)), far == 1);
            for list in lists {
                let mut expected = HashMap::new();
                table.reset(list.len());
                for (number, id) in (0..).zip(list) {
                    prop_assert_eq!(table.get(id), expected.get(&id).copied());
                    prop_assert_eq!(table.insert(id, number), expected.insert(id, number));
                }
            }
        }
    }
}
