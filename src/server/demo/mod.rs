//! The demo: real redis-servers of its own and made-up clients.
