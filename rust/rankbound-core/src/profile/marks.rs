//! Which items a list looks for, and which it has had.

use std::cmp::Ordering;

/// What is known of an item in the present list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Nothing,
    Relevant,
    Listed,
}

/// Marks of items, one list after another.
pub(super) trait Marks {
    /// Begins a list, of which no item is marked.
    fn start(&mut self);

    /// Marks a known item as relevant.
    fn seek(&mut self, item: u32);

    /// Marks an item as listed and returns what it was; none if there is no such item.
    fn list(&mut self, item: u32) -> Option<Mark>;

    /// What a known item is.
    fn mark(&self, item: u32) -> Mark;

    /// Ends a list, all of whose marked items are given.
    fn end(&mut self, items: impl Iterator<Item = u32>);
}

/// A number per item: that of the last list that marked it. Nothing is cleared before the numbers run
/// out, and no word is read that another item has just written.
#[derive(Debug)]
pub(super) struct Numbers {
    marks: Vec<u16>,
    relevant: u16,
    listed: u16,
}

impl Numbers {
    pub(super) fn new(n_items: usize) -> Self {
        Self { marks: vec![0; n_items], relevant: 0, listed: 0 }
    }

    #[inline]
    fn of(&self, number: u16) -> Mark {
        // Lower numbers are those of lists before.
        match number.cmp(&self.relevant) {
            Ordering::Less => Mark::Nothing,
            Ordering::Equal => Mark::Relevant,
            Ordering::Greater => Mark::Listed,
        }
    }
}

impl Marks for Numbers {
    fn start(&mut self) {
        if self.listed >= u16::MAX - 1 {
            self.marks.fill(0);
            self.listed = 0;
        }
        (self.relevant, self.listed) = (self.listed + 1, self.listed + 2);
    }

    #[inline]
    fn seek(&mut self, item: u32) {
        self.marks[item as usize] = self.relevant;
    }

    #[inline]
    fn list(&mut self, item: u32) -> Option<Mark> {
        let before = std::mem::replace(self.marks.get_mut(item as usize)?, self.listed);
        Some(self.of(before))
    }

    #[inline]
    fn mark(&self, item: u32) -> Mark {
        self.of(self.marks[item as usize])
    }

    fn end(&mut self, _items: impl Iterator<Item = u32>) {}
}

/// Two bits per item, all 0 between two lists: an eighth of the memory, for catalogues of which the
/// numbers would not fit a cache.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    n_items: usize,
}

const RELEVANT: u64 = 1;
const LISTED: u64 = 2;
const PER_WORD: u32 = 32;

impl Bits {
    pub(super) fn new(n_items: usize) -> Self {
        Self { words: vec![0; n_items.div_ceil(PER_WORD as usize)], n_items }
    }

    #[inline]
    fn place(item: u32) -> (usize, u32) {
        ((item / PER_WORD) as usize, 2 * (item % PER_WORD))
    }
}

impl Marks for Bits {
    fn start(&mut self) {}

    #[inline]
    fn seek(&mut self, item: u32) {
        let (word, shift) = Self::place(item);
        self.words[word] |= RELEVANT << shift;
    }

    #[inline]
    fn list(&mut self, item: u32) -> Option<Mark> {
        if item as usize >= self.n_items {
            return None;
        }
        let before = self.mark(item);
        let (word, shift) = Self::place(item);
        self.words[word] |= LISTED << shift;
        Some(before)
    }

    #[inline]
    fn mark(&self, item: u32) -> Mark {
        let (word, shift) = Self::place(item);
        let bits = self.words[word] >> shift;
        if bits & LISTED != 0 {
            Mark::Listed
        } else if bits & RELEVANT != 0 {
            Mark::Relevant
        } else {
            Mark::Nothing
        }
    }

    fn end(&mut self, items: impl Iterator<Item = u32>) {
        items.for_each(|item| self.words[Self::place(item).0] = 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(marks: &mut impl Marks, lists: &[(Vec<u32>, Vec<u32>)], n_items: u32) {
        for (relevant, listed) in lists {
            marks.start();
            relevant.iter().filter(|item| **item < n_items).for_each(|&item| marks.seek(item));
            for (at, &item) in listed.iter().enumerate() {
                let before = if listed[..at].contains(&item) {
                    Mark::Listed
                } else if relevant.contains(&item) {
                    Mark::Relevant
                } else {
                    Mark::Nothing
                };
                assert_eq!(marks.list(item), (item < n_items).then_some(before));
                assert!(item >= n_items || marks.mark(item) == Mark::Listed);
            }
            marks.end(relevant.iter().chain(listed).copied().filter(|item| *item < n_items));
        }
    }

    proptest! {
        #[test]
        fn an_item_is_what_its_own_list_made_it(
            lists in prop::collection::vec((prop::collection::vec(0_u32..70, 0..9), prop::collection::vec(0_u32..70, 0..9)), 0..9),
        ) {
            check(&mut Numbers::new(65), &lists, 65);
            check(&mut Bits::new(65), &lists, 65);
        }
    }

    #[test]
    fn lists_beyond_the_last_number_are_told_apart() {
        let lists: Vec<_> = (0..u32::from(u16::MAX)).map(|list| (vec![0, 1], vec![2, list % 2])).collect();
        check(&mut Numbers::new(3), &lists, 3);
    }
}
