//! Locks in Redis and Valkey: the connections to the nodes, the recognisers of the formats, and the
//! locking code.

pub mod formats;
pub mod key_state;
pub mod locking;
pub mod nodes;
mod reading;
pub mod restarts;
