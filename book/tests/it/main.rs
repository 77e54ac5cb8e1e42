//! Whole books: tiny ones that are broken in one way, and the real one.

mod broken;
mod browser;
mod fragments;
mod needs;
mod playground;
mod prose;
mod quizzes;
mod real;
mod timelines;
mod tiny;
