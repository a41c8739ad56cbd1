//! Interpreters and tools of other languages, as `make setup` installs them.

use std::path::{Path, PathBuf};

const REPO: &str = env!("CARGO_MANIFEST_DIR");

/// A Python interpreter with redis-py.
pub fn python() -> PathBuf {
    let python = super::redis_py_dir().join("bin/python3");
    assert!(
        python.exists(),
        "redis-py 8.1.0 is not installed; `make setup` installs it"
    );
    python
}

/// A Python interpreter with the other lock libraries.
pub fn python_with_lock_clients() -> PathBuf {
    let python = super::tool_dir("lock-clients").join("bin/python3");
    assert!(
        python.exists(),
        "the Python lock libraries are not installed; `make setup` installs them"
    );
    python
}

/// A Python interpreter with caches, sessions, queues and rate limiters.
pub fn python_with_data_libraries() -> PathBuf {
    let python = super::tool_dir("data-libraries").join("bin/python3");
    assert!(
        python.exists(),
        "the Python libraries that store other data are not installed; `make setup` installs them"
    );
    python
}

/// schemathesis, which sends an API the requests that its OpenAPI document allows and forbids.
pub fn schemathesis() -> PathBuf {
    let program = super::tool_dir("schemathesis").join("bin/schemathesis");
    assert!(
        program.exists(),
        "schemathesis is not installed; `make setup` installs it"
    );
    program
}

/// openapi-spec-validator, which checks a document against the OpenAPI specification.
pub fn openapi_spec_validator() -> PathBuf {
    let program = super::tool_dir("openapi-spec-validator").join("bin/openapi-spec-validator");
    assert!(
        program.exists(),
        "openapi-spec-validator is not installed; `make setup` installs it"
    );
    program
}

/// Node.js. Panics if the npm package is not installed.
pub fn node(package: &str) -> PathBuf {
    let folder = Path::new(REPO).join("node_modules").join(package);
    assert!(
        folder.exists(),
        "the npm package {package} is not installed; `make setup` installs it"
    );
    PathBuf::from("node")
}

/// The path of a script in `src/tests/clients`.
pub fn client_script(name: &str) -> PathBuf {
    Path::new(REPO).join("src/tests/clients").join(name)
}
