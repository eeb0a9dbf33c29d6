//! What the core refuses, with the place and the value. The binding maps each kind to a class of
//! `rankbound.errors` and keeps the message.

/// A refused input, or a run that was told to stop.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A NaN or infinite score among the candidates of a row.
    #[error(
        "{value} at row {row}, column {column}: every score must be finite; to leave an item out, \
         list it in `exclude` (or pass mask_neg_inf=True to let -inf mean that)"
    )]
    NonFiniteScore {
        /// Row of the input matrix.
        row: usize,
        /// Column of the input matrix.
        column: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// A score outside the range that a transform is defined on.
    #[error("{value} at row {row}, column {column}: {transform} needs scores {range}; {hint}")]
    ScoreOutOfRange {
        /// Row of the input matrix.
        row: usize,
        /// Column of the input matrix.
        column: usize,
        /// The offending score.
        value: f64,
        /// The transform that refused it.
        transform: &'static str,
        /// The range it needs, in words.
        range: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// A row in which every candidate is masked.
    #[error(
        "row {row} has no candidate left: exclude (or a mask, or -inf) leaves out all {n_classes} columns; drop the row or \
         leave one in"
    )]
    AllMasked {
        /// Row of the input matrix.
        row: usize,
        /// Number of columns.
        n_classes: usize,
    },
    /// An integer score that the comparison type cannot hold exactly.
    #[error("{value} at row {row}, column {column}: integer scores {reason}")]
    IntegerRange {
        /// Row of the input matrix.
        row: usize,
        /// Column of the input matrix.
        column: usize,
        /// The offending score, in decimal.
        value: String,
        /// Why it cannot be ranked exactly here.
        reason: &'static str,
    },
    /// A label without a position.
    #[error(
        "{name} has {value} at row {row}, column {column}: rankings must be complete, with a finite position for every \
         label; rank all labels of the row or leave it out"
    )]
    IncompleteRanking {
        /// The argument the ranking came from.
        name: &'static str,
        /// Row of the ranking.
        row: usize,
        /// Column of the label.
        column: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// Labels that share a position where none may.
    #[error(
        "{name} has {value} twice at row {row}, in columns {} and {}: this measure takes rankings without ties; \
         tau_x_score and kendall_tau_expected allow them", columns[0], columns[1]
    )]
    TiedRanking {
        /// The argument the ranking came from.
        name: &'static str,
        /// Row of the ranking.
        row: usize,
        /// The position they share.
        value: String,
        /// Columns of the labels.
        columns: [usize; 2],
    },
    /// A value that the fixed-point accumulator cannot hold.
    #[error(
        "{name} holds {value} at position {position}: values must be finite and below 2^40 in magnitude, and their sum \
         below 2^47; rescale them"
    )]
    AccumulatorRange {
        /// The argument the value came from.
        name: &'static str,
        /// Index of the value.
        position: usize,
        /// The value.
        value: f64,
    },
    /// An item that is listed twice in one list.
    #[error("list {list} names item {item} at positions {first} and {second}: each item can be ranked once; drop one")]
    DuplicateItem {
        /// The list.
        list: usize,
        /// The item.
        item: i64,
        /// Where it stands first.
        first: usize,
        /// Where it stands again.
        second: usize,
    },
    /// An item that is none of the catalogue.
    #[error(
        "list {list} names item {item} at position {position}, but items go from 0 to {}; for lists shorter than the \
         others pass lengths=", n_items.saturating_sub(1)
    )]
    UnknownItem {
        /// The list.
        list: usize,
        /// The position in it.
        position: usize,
        /// The item.
        item: i64,
        /// Number of items in the catalogue.
        n_items: usize,
    },
    /// A score in a list that is not finite, or above the one before it.
    #[error("list {list} has the score {value} at position {position}: scores must {rule}")]
    ListScore {
        /// The list.
        list: usize,
        /// The position in it.
        position: usize,
        /// The score.
        value: f64,
        /// What it breaks.
        rule: &'static str,
    },
    /// A tie at the end of a list that items beyond it may share.
    #[error(
        "list {list} ends within a tie: {tied} of its {length} items share the last score, and items that are not \
         listed may share it too, so its value is unknown. Pass longer lists, or open_tie='bounds' for what is certain, \
         or open_tie='as_listed' to take the tie as complete"
    )]
    OpenTie {
        /// The list.
        list: usize,
        /// Listed items in the tie.
        tied: usize,
        /// Items in the list.
        length: usize,
    },
    /// A value of a query's or an item's vector that is NaN or infinite.
    #[error("{name} has {value} at row {row}, dimension {dimension}: every value must be finite")]
    VectorValue {
        /// The argument.
        name: &'static str,
        /// Its row.
        row: usize,
        /// The dimension.
        dimension: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f32,
    },
    /// A vector of zeros where a direction is needed.
    #[error(
        "{name} has only zeros in row {row}, and a zero vector has no direction: leave it out, or use similarity='inner'"
    )]
    ZeroVector {
        /// The argument.
        name: &'static str,
        /// Its row.
        row: usize,
    },
    /// An item bias that is NaN or infinite.
    #[error(
        "item_bias has {value} for item {item}: every value must be finite; to leave an item out, list it in `exclude`"
    )]
    ItemBias {
        /// The item.
        item: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f32,
    },
    /// A score computed from vectors that is beyond single precision.
    #[error(
        "query {query} scores {value} with item {item}: the sum leaves the range of float32; scale the vectors down"
    )]
    ScoreOverflow {
        /// The query.
        query: usize,
        /// The item.
        item: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f32,
    },
    /// A row of a run or of qrels that cannot be used.
    #[error("row {row}: {problem}")]
    Pair {
        /// The row.
        row: usize,
        /// What is wrong with it.
        problem: PairProblem,
    },
    /// A line of a file that cannot be read.
    #[error("line {line} {reason}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A tie at the end of a list that reaches into its top K, which items beyond it may share.
    #[error(
        "list {list} ends within a tie that reaches into its top {k}: {tied} of its {length} items share the last score, \
         and items that are not listed may share it too, so what the top {k} holds is unknown. Pass longer lists, or \
         open_tie='as_listed' to take the tie as complete"
    )]
    OpenTop {
        /// The list.
        list: usize,
        /// The cut-off.
        k: usize,
        /// Listed items in the tie.
        tied: usize,
        /// Items in the list.
        length: usize,
    },
    /// An option outside its range, or options that contradict one another.
    #[error("{0}")]
    Parameter(String),
    /// Arguments whose sizes contradict one another.
    #[error("{0}")]
    Shape(String),
    /// The caller asked to stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// Why a row of a run or of qrels is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PairProblem {
    /// The query has the item twice.
    #[error("listed twice")]
    Twice,
    /// The grade is negative, NaN or infinite.
    #[error("the grade is {0}")]
    Grade(f64),
    /// The score or rank is NaN.
    #[error("the score is NaN")]
    Nan,
    /// Another item of the query has the same rank.
    #[error("the rank {0} is taken twice")]
    SameRank(f64),
    /// The query's items end within a tie of so many items, which others may share.
    #[error("the last tie, of {0} items, is open")]
    OpenTie(u32),
}

/// Shorthand for results of the core.
pub type Result<T> = std::result::Result<T, Error>;
