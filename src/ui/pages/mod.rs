//! The pages, one file per route. A page loads its data and arranges components.

pub mod activity;
pub mod audit;
pub mod help;
pub mod kit;
pub mod lock;
pub mod locks;
pub mod mine;
pub mod nodes;
pub mod not_found;
pub mod owner;
pub mod owners;
pub mod sign_in;
pub mod waits;
pub mod webhooks;
