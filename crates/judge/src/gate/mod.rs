//! Gates: conditions that a document must meet, with what became of them.

mod limit;
mod outcome;
mod slower;

pub use limit::Limit;
pub use outcome::Outcome;
pub use slower::Slower;
