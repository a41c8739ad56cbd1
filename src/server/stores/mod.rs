//! The services that locks are kept in. One module per kind of service.

pub mod redis;
