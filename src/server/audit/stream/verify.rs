//! Verifying the stream: the same chain as in files, read page by page.

use std::path::PathBuf;

use crate::server::audit::verify::{Verified, Verifying};
use crate::server::shared::{Gone, Shared};

/// Reads the whole stream and checks every line. `noted` is a head that was noted elsewhere.
pub async fn verify(shared: &Shared, noted: Option<&str>) -> Result<Verified, Gone> {
    let place = PathBuf::from(format!("{} {}", shared.address(), shared.stream_name()));
    let mut verifying = Verifying::new(noted);
    verifying.verified.files.push(place.clone());
    let mut next = 0;
    loop {
        let lines = shared.lines_from(next).await?;
        let Some((last, _)) = lines.last() else {
            return Ok(verifying.end());
        };
        next = last + 1;
        for (number, line) in lines {
            verifying.line(&place, number, &line);
        }
    }
}
