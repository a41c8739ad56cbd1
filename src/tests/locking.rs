//! Locking on real nodes.
