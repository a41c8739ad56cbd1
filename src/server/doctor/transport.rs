//! Whether what lets people and programs in crosses a network unencrypted.

use std::net::SocketAddr;

use super::Words;
use crate::domain::{Checkup, Finding, Severity, Timestamp};

/// What its checkup is called, where those of groups have the group's name.
const NAME: &str = "[sign_in]";

/// What is to be said of a console that takes credentials over plain `http` at this address.
pub fn examine_transport(in_clear_at: SocketAddr, now: Timestamp) -> Checkup {
    Checkup::new(NAME, vec![in_clear(in_clear_at)], Vec::new(), now)
}

fn in_clear(listen: SocketAddr) -> Finding {
    let words = Words {
        code: "sign-in-in-clear",
        severity: Severity::Warning,
        what: "Passwords and tokens cross the network unencrypted.".to_owned(),
        why: "Whoever is on the path reads them, signs in with them, and releases locks under another name.",
        fix: "Name tls_certificate_file and tls_key_file, so that the console serves https itself; or listen on 127.0.0.1 behind a proxy \
              that ends TLS. Where such a proxy is there already, list it in trusted_from, or say https = true in [sign_in]."
            .to_owned(),
        commands: Vec::new(),
    };
    let seen =
        format!("listen = \"{listen}\", with users or tokens and without TLS (configuration)");
    words.finding(Vec::new(), vec![seen])
}
