//! Parts that know what a lock is.

pub mod acquire_dialog;
pub mod banners;
pub mod copy_token;
pub mod coverage;
pub mod fault_notice;
pub mod filter_tiles;
pub mod layout;
pub mod lease_bar;
pub mod live_indicator;
pub mod loaded;
pub mod lock_facts;
pub mod lock_name;
pub mod lock_row;
pub mod lock_table;
pub mod mine_card;
pub mod node_acts;
pub mod node_card;
pub mod node_dots;
pub mod node_matrix;
pub mod node_strip;
pub mod owner_name;
pub mod release;
pub mod script_box;
pub mod search_bar;
pub mod theme_switch;
pub mod verdict_badge;
