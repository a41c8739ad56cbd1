//! The signature of an event, as <https://www.standardwebhooks.com> has it, so that its libraries can check it.

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::server::config::WebhookSecret;

/// The signature of a body that is sent under this id at this second of the Unix time. Who changes any of the three, or sends it
/// again much later, is found out.
pub(super) fn signature(secret: &WebhookSecret, id: &str, second: i64, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose()).expect("a key may have any length");
    mac.update(format!("{id}.{second}.").as_bytes());
    mac.update(body.as_bytes());
    format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn the_signature_is_the_one_of_the_specification() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
