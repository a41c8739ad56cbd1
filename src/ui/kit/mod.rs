//! Parts that know nothing about locks: each could live in another product.

pub mod badge;
pub mod banner;
pub mod button;
pub mod card;
pub mod chart;
pub mod copy;
pub mod dialog;
pub mod draft;
pub mod empty;
pub mod field;
pub mod icon;
pub mod link;
pub mod table;

pub use badge::{Badge, Tone};
pub use banner::Banner;
pub use button::{Button, Variant};
pub use card::{Card, FoldedCard};
pub use copy::CopyButton;
pub use dialog::{Dialog, DialogHandle};
pub use empty::Empty;
pub use field::{Binding, CheckboxField, Choice, Field, SelectField, TextField};
pub use icon::{Icon, Sign};
pub use link::{Link, use_replace_address};
pub use table::Table;
