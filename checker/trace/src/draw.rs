//! Drawings: one layout, written as SVG or as text.
