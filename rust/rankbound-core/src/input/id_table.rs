//! Tables from ids to numbers, for one list after another.

use super::ids::Id;

/// Numbers by id.
pub(crate) trait IdTable<I>: Clone + Send + Sync {
    /// Begins another list, with room for `n_ids` ids.
    fn reset(&mut self, n_ids: usize);

    /// The number of an id in this list.
    fn get(&self, id: I) -> Option<u32>;

    /// Gives an id a number and returns the one it had in this list.
    fn insert(&mut self, id: I, number: u32) -> Option<u32>;
}

/// What no id maps to.
const FREE: u32 = u32::MAX;

/// Numbers below 2^32 - 1 by id: open addressing with linear probing, at most half full.
#[derive(Debug, Clone)]
pub(crate) struct HashTable<I> {
    slots: Vec<Slot<I>>,
    // The table is the first 2^bits slots; the others wait for a longer list.
    bits: u32,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot<I> {
    id: I,
    // Of the id, which may lie far away.
    digest: u32,
    number: u32,
}

impl<I: Id> HashTable<I> {
    /// An empty table.
    pub(crate) fn new() -> Self {
        let mut table = Self { slots: Vec::new(), bits: 0, len: 0 };
        table.reset(0);
        table
    }

    /// The slot of an id, or the free one where it would go.
    fn find(&self, id: I, digest: u32) -> usize {
        let last = (1 << self.bits) - 1;
        let mut at = (digest >> u32::BITS.saturating_sub(self.bits)) as usize;
        loop {
            let slot = &self.slots[at];
            if slot.number == FREE || (slot.digest == digest && slot.id == id) {
                return at;
            }
            at = (at + 1) & last;
        }
    }

    fn grow(&mut self) {
        let mut larger = Self::new();
        larger.reset(4 * self.len);
        for slot in self.slots[..1 << self.bits].iter().filter(|slot| slot.number != FREE) {
            let at = larger.find(slot.id, slot.digest);
            larger.slots[at] = *slot;
        }
        larger.len = self.len;
        *self = larger;
    }
}

impl<I: Id> IdTable<I> for HashTable<I> {
    /// More ids than there is room for make the table grow.
    fn reset(&mut self, n_ids: usize) {
        let size = (2 * n_ids.max(4)).next_power_of_two();
        self.bits = size.trailing_zeros();
        self.len = 0;
        let kept = size.min(self.slots.len());
        let free = Slot { id: I::default(), digest: 0, number: FREE };
        self.slots[..kept].fill(free);
        if size > kept {
            self.slots.resize(size, free);
        }
    }

    fn get(&self, id: I) -> Option<u32> {
        let number = self.slots[self.find(id, id.digest())].number;
        (number != FREE).then_some(number)
    }

    fn insert(&mut self, id: I, number: u32) -> Option<u32> {
        let digest = id.digest();
        let at = self.find(id, digest);
        let slot = &mut self.slots[at];
        if slot.number != FREE {
            return Some(std::mem::replace(&mut slot.number, number));
        }
        *slot = Slot { id, digest, number };
        self.len += 1;
        if self.len > 1 << (self.bits - 1) {
            self.grow();
        }
        None
    }
}

/// Up to this many different ids a number for each is kept, in the cache of a core.
const DIRECT: u64 = 1 << 20;

/// Numbers by integer: a place per id if ids lie close together, else hashed.
#[derive(Debug, Clone)]
pub(crate) enum IntegerTable {
    /// Per id from the first one on, the list that gave it a number last, and the number.
    Direct(i64, Vec<(u32, u32)>, u32),
    /// Any ids.
    Hashed(HashTable<i64>),
}

impl IntegerTable {
    /// An empty table for ids between the least and the most of some columns.
    pub(crate) fn new(limits: impl Iterator<Item = (i64, i64)>) -> Self {
        let (first, last) = limits.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0));
        let mut table = match usize::try_from(last.abs_diff(first)) {
            Ok(width) if last.abs_diff(first) < DIRECT => Self::Direct(first, vec![(0, 0); width + 1], 0),
            _ => Self::Hashed(HashTable::new()),
        };
        table.reset(0);
        table
    }
}

impl IdTable<i64> for IntegerTable {
    fn reset(&mut self, n_ids: usize) {
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

    fn get(&self, id: i64) -> Option<u32> {
        match self {
            Self::Direct(first, places, list) => {
                let (of_list, number) = places[place_of(id, *first)];
                (of_list == *list).then_some(number)
            }
            Self::Hashed(table) => table.get(id),
        }
    }

    fn insert(&mut self, id: i64, number: u32) -> Option<u32> {
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
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use proptest::prelude::*;
    use proptest::test_runner::TestCaseError;

    use super::*;
    use crate::input::{IdColumn, TextList, Texts};

    /// The table, used before with ids of its own, and a map give the same.
    fn check<I: Id + Debug>(before: &[I], ids: &[I], room: usize) -> Result<(), TestCaseError> {
        let mut table = HashTable::new();
        before.iter().for_each(|&id| {
            table.insert(id, 7);
        });
        table.reset(room);
        let mut expected = BTreeMap::new();
        for (number, &id) in (0..).zip(ids) {
            prop_assert_eq!(table.get(id), expected.get(&id).copied());
            prop_assert_eq!(table.insert(id, number), expected.insert(id, number));
        }
        for (&id, &number) in &expected {
            prop_assert_eq!(table.get(id), Some(number));
        }
        Ok(())
    }

    proptest! {
        /// Ids that are close, far apart, extreme, or differ in high bits only, and their texts.
        #[test]
        fn numbers_are_those_a_map_keeps(
            drawn in prop::collection::vec((any::<i64>(), 0_usize..4), 0..400), room in 0_usize..20, n_before in 0_usize..90,
        ) {
            let of = |&(drawn, shape): &(i64, usize)| [drawn, drawn % 50, drawn << 48, i64::MIN + (drawn & 1)][shape];
            let ids: Vec<i64> = drawn.iter().map(of).collect();
            let before = &ids[..n_before.min(ids.len())];
            check(before, &ids, room)?;
            // Longer and shorter than what is compared first, and empty.
            let text = |(&(_, shape), id): (&(i64, usize), &i64)| id.to_string().repeat(1 + shape)[1..].to_string();
            let texts: Vec<String> = drawn.iter().zip(&ids).map(text).collect();
            let list: TextList = texts.iter().map(String::as_bytes).collect();
            let texts = Texts::joined(&list.bytes, &list.starts).unwrap().all();
            check(&texts[..before.len()], &texts, room)?;
        }

        #[test]
        fn lists_do_not_see_one_another(
            lists in prop::collection::vec(prop::collection::vec(-20_i64..20, 0..30), 1..9), far in 0_i64..2,
        ) {
            let mut table = IntegerTable::new([(0, 19 + (far << 40)), (-20, 7)].into_iter());
            prop_assert_eq!(matches!(table, IntegerTable::Hashed(_)), far == 1);
            for list in lists {
                let mut expected = BTreeMap::new();
                table.reset(list.len());
                for (number, id) in (0..).zip(list) {
                    prop_assert_eq!(table.get(id), expected.get(&id).copied());
                    prop_assert_eq!(table.insert(id, number), expected.insert(id, number));
                }
            }
        }
    }
}
