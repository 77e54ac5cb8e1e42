//! A question, as it is asked and answered.

use serde::Deserialize;
use trace::draw::Layout;

/// A wrong choice.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Its text.
    pub text: String,
    /// Why it is wrong.
    pub why: String,
}

/// Something to be put in order.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OrderItem {
    /// Its name in `before`.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The operations among which one is looked for on a timeline.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Operations {
    /// Kernels.
    Kernels,
    /// Copies to the device.
    Uploads,
    /// Copies to the host.
    Downloads,
}

/// Which of them is looked for. The simulator knows the answer; no file states it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The one that starts first.
    First,
    /// The one that ends last.
    Last,
    /// The first that shares all or some of its time with an operation of another kind.
    FirstBeside,
    /// The first that shares none.
    FirstAlone,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its name, the only one of its kind in the file.
    pub id: String,
    /// The prompt.
    pub prompt: String,
    /// The form of the answer.
    pub form: Form,
    /// Why the answer is right.
    pub context: String,
}

/// How a question is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// By one of several.
    Choice {
        /// The right answer.
        answer: String,
        /// The wrong choices.
        distractors: Vec<Wrong>,
        /// Whether the choices are numbers, which are shown in their order.
        sorted: bool,
    },
    /// By a few words.
    Words {
        /// A program that is asked about, where there is one.
        program: Option<String>,
        /// The right answers; the first is shown.
        answers: Vec<String>,
    },
    /// By a number.
    Number {
        /// The right answer.
        value: f64,
        /// How far off is right too, as a part of the value.
        tolerance: f64,
        /// Its unit.
        unit: String,
    },
    /// By an order.
    Order {
        /// The items, in the right order.
        items: Vec<OrderItem>,
        /// Which has to come before which.
        before: Vec<[String; 2]>,
    },
    /// By a mark on a timeline.
    Timeline {
        /// The drawing.
        layout: Layout,
        /// The bar that is looked for: its place among the drawing's.
        answer: usize,
    },
}
