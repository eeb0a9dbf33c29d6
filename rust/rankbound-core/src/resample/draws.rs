//! The indices of a batch of resamples, where the workers left them.

use super::pairwise::LEAF;

/// Consecutive indices of the stream. Refused draws leave gaps between the runs that were kept;
/// closing them would move nearly every index, so the readers step over them.
#[derive(Default)]
pub(super) struct Draws {
    buffer: Vec<u32>,
    runs: Vec<Run>,
    /// Length of the front of the buffer that is taken.
    taken: usize,
    /// Number of indices.
    len: usize,
}

struct Run {
    /// Place in the buffer.
    start: usize,
    len: usize,
    /// Number of indices in the runs before.
    before: usize,
}

impl Draws {
    /// Starts again with the given indices and room for `capacity` in all.
    pub(super) fn restart(&mut self, first: &[u32], capacity: usize) {
        self.runs.clear();
        (self.taken, self.len) = (0, 0);
        if self.buffer.len() < capacity {
            // New zeros come unmapped from the system: the workers touch them first, in parallel.
            self.buffer = vec![0; capacity];
        }
        self.room(first.len()).copy_from_slice(first);
        self.push(first.len(), first.len());
    }

    /// Room for `n` indices behind what is taken.
    pub(super) fn room(&mut self, n: usize) -> &mut [u32] {
        let end = self.taken + n;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        &mut self.buffer[self.taken..end]
    }

    /// Takes `room` of the buffer, of which the first `len` hold indices.
    pub(super) fn push(&mut self, len: usize, room: usize) {
        self.runs.push(Run { start: self.taken, len, before: self.len });
        self.taken += room;
        self.len += len;
    }

    /// Number of indices.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Reads from the index at `position <= len` on.
    pub(super) fn cursor(&self, position: usize) -> Cursor<'_> {
        // The first run starts at 0, so at least one is behind or at the position.
        let next = self.runs.partition_point(|run| run.before <= position);
        let run = &self.runs[next - 1];
        Cursor {
            rest: &self.buffer[run.start..][position - run.before..run.len],
            runs: &self.runs[next..],
            buffer: &self.buffer,
            joined: [0; LEAF],
        }
    }
}

/// A reader of [`Draws`].
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    /// What is left of the current run.
    rest: &'a [u32],
    /// The runs after it.
    runs: &'a [Run],
    buffer: &'a [u32],
    /// Holds indices that come from more than one run.
    joined: [u32; LEAF],
}

impl Cursor<'_> {
    /// The next `n <= LEAF` indices, fewer at the end of the draws.
    pub(super) fn take(&mut self, n: usize) -> &[u32] {
        if let Some((head, rest)) = self.rest.split_at_checked(n) {
            self.rest = rest;
            return head;
        }
        let mut filled = 0;
        while filled < n {
            let (head, rest) = self.rest.split_at(self.rest.len().min(n - filled));
            self.joined[filled..][..head.len()].copy_from_slice(head);
            filled += head.len();
            self.rest = rest;
            if filled < n {
                let Some((run, runs)) = self.runs.split_first() else { break };
                self.rest = &self.buffer[run.start..][..run.len];
                self.runs = runs;
            }
        }
        &self.joined[..filled]
    }
}

#[cfg(test)]
impl From<Vec<u32>> for Draws {
    fn from(indices: Vec<u32>) -> Self {
        let mut draws = Self::default();
        draws.restart(&indices, indices.len());
        draws
    }
}
