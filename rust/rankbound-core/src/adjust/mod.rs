//! Rewrites scores before they are ranked.
