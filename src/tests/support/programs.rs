//! The programs of other languages in which lock libraries are run for real.

use std::path::{Path, PathBuf};

const REPO: &str = env!("CARGO_MANIFEST_DIR");

/// Python with redis-py in it.
pub fn python() -> PathBuf {
    let python = super::tools().join("bin/python3");
    assert!(
        python.exists(),
        "redis-py 8.1.0 is not installed; `make setup` installs it"
    );
    python
}

/// Python with the other lock libraries in it.
pub fn python_with_lock_clients() -> PathBuf {
    let python = super::installed("lock-clients").join("bin/python3");
    assert!(
        python.exists(),
        "the Python lock libraries are not installed; `make setup` installs them"
    );
    python
}

/// schemathesis, which asks an API whatever its document allows and forbids.
pub fn schemathesis() -> PathBuf {
    let program = super::installed("schemathesis").join("bin/schemathesis");
    assert!(
        program.exists(),
        "schemathesis is not installed; `make setup` installs it"
    );
    program
}

/// openapi-spec-validator, which knows what an OpenAPI document may be.
pub fn openapi_spec_validator() -> PathBuf {
    let program = super::installed("openapi-spec-validator").join("bin/openapi-spec-validator");
    assert!(
        program.exists(),
        "openapi-spec-validator is not installed; `make setup` installs it"
    );
    program
}

/// Node.js, once the npm package is there.
pub fn node(package: &str) -> PathBuf {
    let folder = Path::new(REPO).join("node_modules").join(package);
    assert!(
        folder.exists(),
        "the npm package {package} is not installed; `make setup` installs it"
    );
    PathBuf::from("node")
}

/// One of the scripts in `clients`.
pub fn script(name: &str) -> PathBuf {
    Path::new(REPO).join("src/tests/clients").join(name)
}
