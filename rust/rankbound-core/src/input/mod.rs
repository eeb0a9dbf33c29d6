//! What the caller lends: score matrices of any numeric type, read row by row.

mod score;

pub use score::Score;
