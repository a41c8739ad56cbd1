//! The UI kit: components without knowledge of locks.

pub mod badge;
pub mod banner;
pub mod button;
pub mod card;
pub mod chart;
pub mod controlled;
pub mod copy;
pub mod dialog;
pub mod draft;
pub mod empty;
pub mod field;
pub mod icon;
pub mod link;
pub mod menu;
pub mod phone_sheet;
pub mod sparkline;
pub mod table;

pub use badge::{Badge, Tone};
pub use banner::Banner;
pub use button::{Button, Variant};
pub use card::{Card, FoldedCard};
pub use copy::CopyButton;
pub use dialog::{Dialog, DialogHandle};
pub use empty::Empty;
pub use field::{Binding, CheckboxField, Field, SelectField, SelectOption, TextField};
pub use icon::{Icon, IconName};
pub use link::{Link, use_replace_address};
pub use menu::Menu;
pub use phone_sheet::PhoneSheet;
pub use table::Table;
