//! A build without single sign-on says so where a configuration asks for it.

use lockkeeper::server::config::parse;

#[test]
fn a_configuration_that_asks_for_single_sign_on_is_told_that_it_is_not_built_in() {
    let text = "[sign_in.oidc]\nissuer = \"https://login.example.org\"\nclient_id = \"lockkeeper\"\n\
                console_url = \"https://locks.example.org\"\n[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let why = parse("c", text, &|_| None).unwrap_err().to_string();
    assert!(
        why.starts_with("c:1:1: this lockkeeper was built without single sign-on"),
        "{why}"
    );
}
