//! Rewrites scores before they are ranked.
use crate::{Result, input::Score};
/// x
#[derive(Clone)]
pub enum Transform { /// i
 Identity, /// r
 Rates(Vec<f64>) }
impl Transform {
    /// x
    pub fn is_identity(&self) -> bool { matches!(self, Self::Identity) }
    /// x
    pub fn apply_row<T: Score>(&self, _row: usize, row: &[T], out: &mut [f64]) -> Result<()> {
        if let Self::Rates(d) = self { for ((o, s), d) in out.iter_mut().zip(row).zip(d) { *o = s.to_f64() / d; } }
        Ok(())
    }
}
