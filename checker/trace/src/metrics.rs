//! Metrics of a timeline.
