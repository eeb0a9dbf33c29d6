//! Bootstrap over units.
