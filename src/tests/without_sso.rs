//! A build without single sign-on rejects a configuration that enables it.

use lockkeeper::server::config::parse;

#[test]
fn a_configuration_with_single_sign_on_is_rejected() {
    let text = "[sign_in.oidc]\nissuer = \"https://login.example.org\"\nclient_id = \"lockkeeper\"\n\
                public_url = \"https://locks.example.org\"\n[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let error = parse("c", text, &|_| None).unwrap_err().to_string();
    assert!(
        error.starts_with("c:1:1: this build of lockkeeper does not support single sign-on"),
        "{error}"
    );
}
