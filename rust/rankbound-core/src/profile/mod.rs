//! The waist: where the judged items of a list stand, and with how many others they tie.
//!
//! Whatever the input, a list narrows to these counts, and every metric reads only them.

mod embeddings;
mod list;
mod lists;
mod marks;
mod popularity;
mod ranker;
mod runs;
mod scan;
mod scores;
mod top;

#[cfg(test)]
mod tests;

pub use embeddings::profile_embeddings;
pub use list::{BrokenTies, Profiles, RelevantItem, TieGroup, TieProfile};
pub(crate) use lists::{Finder, check_scores};
pub use lists::{ItemLists, ListRules, OpenTie, profile_lists};
pub(crate) use popularity::FixedRow;
pub use popularity::Popularity;
pub use ranker::Ranker;
pub use runs::{Judged, Run, RunCounts, RunRules, TieBreak, profile_runs};
pub use scan::{Block, Grading, Scan, ScanOptions, lists_per_task, scan};
pub use scores::{ScoredTargets, profile_scores};
pub use top::{TopColumns, top_columns};

/// Where one judged item stands in its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Candidates that score strictly higher (`b`).
    pub better: u32,
    /// Candidates that score the same, the item included (`t`); 0 if the item is no candidate.
    pub tied: u32,
}

impl Placement {
    /// An item that is not among the candidates: a miss at every cut-off.
    pub const MISS: Self = Self { better: 0, tied: 0 };

    /// Whether the item is no candidate.
    pub fn is_miss(self) -> bool {
        self.tied == 0
    }
}
