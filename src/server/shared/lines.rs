//! The audit as a stream: lines that are added where the writer believes that it ends, or not at all, and the programs that
//! write to it.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Gone, OurScript, Shared};

static APPEND: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/audit_append.lua")));
static MARK: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/audit_mark.lua")));

/// So many lines are read at once.
const PAGE: usize = 500;

/// An entry of the stream as it is told: its id, and its fields with their values.
type Entry = (String, Vec<(String, Vec<u8>)>);

/// A line of the stream: its number and its text.
pub type Line = (u64, Vec<u8>);

/// Where the stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The number of its last line; 0 where there is none.
    pub number: u64,
    /// Its hash; zeros where there is none.
    pub hash: String,
}

/// A program that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// The number of the last line before it began.
    pub since: u64,
    /// It said so lately.
    pub is_alive: bool,
}

impl Shared {
    fn stream(&self) -> String {
        self.key("audit", "lines")
    }

    /// What the stream is called.
    pub fn stream_name(&self) -> String {
        self.stream()
    }

    /// Adds lines after that one; where the stream ends with another, none is added, and that one is told.
    pub async fn add_lines(
        &self,
        after: &End,
        lines: &[&[u8]],
        most: Option<u64>,
    ) -> Result<Option<End>, Gone> {
        let (number, most) = (
            after.number.to_string(),
            most.unwrap_or_default().to_string(),
        );
        let mut arguments = vec![number.as_bytes(), after.hash.as_bytes(), most.as_bytes()];
        arguments.extend_from_slice(lines);
        let told: Vec<String> = self.run(&APPEND, &[&self.stream()], &arguments).await?;
        Ok(match told.as_slice() {
            [_, number, hash] => Some(End {
                number: number.parse().unwrap_or_default(),
                hash: hash.clone(),
            }),
            _ => None,
        })
    }

    /// A page of lines from this number on, the earliest first.
    pub async fn lines_from(&self, number: u64) -> Result<Vec<Line>, Gone> {
        let mut command = redis::cmd("XRANGE");
        command
            .arg(self.stream())
            .arg(format!("{number}-0"))
            .arg("+");
        self.lines(command.arg("COUNT").arg(PAGE)).await
    }

    /// A page of lines before this number, or of the last ones, the latest first.
    pub async fn lines_before(&self, number: Option<u64>) -> Result<Vec<Line>, Gone> {
        let end = match number {
            Some(number) => format!("({number}-0"),
            None => "+".to_owned(),
        };
        let mut command = redis::cmd("XREVRANGE");
        command.arg(self.stream()).arg(end).arg("-");
        self.lines(command.arg("COUNT").arg(PAGE)).await
    }

    async fn lines(&self, command: &redis::Cmd) -> Result<Vec<Line>, Gone> {
        let entries: Vec<Entry> = self.command(command).await?;
        let line = |(id, fields): Entry| {
            let number = id
                .split_once('-')
                .and_then(|(number, _)| number.parse().ok());
            let text = fields.into_iter().next().map(|(_, text)| text);
            (number.unwrap_or_default(), text.unwrap_or_default())
        };
        Ok(entries.into_iter().map(line).collect())
    }

    fn mark_of(&self, run: &str) -> String {
        self.key("audit-run", run)
    }

    fn all_runs(&self) -> String {
        self.key("audit", "runs")
    }

    /// Says that a program lives, for so long.
    pub async fn mark_run(&self, run: &str, since: u64, lasts: Duration) -> Result<(), Gone> {
        let (mark, all) = (self.mark_of(run), self.all_runs());
        let (since, lasts) = (since.to_string(), lasts.as_millis().to_string());
        let arguments = [run.as_bytes(), since.as_bytes(), lasts.as_bytes()];
        self.run(&MARK, &[&mark, &all], &arguments).await
    }

    /// Forgets a program: all of its acts have an end.
    pub async fn forget_run(&self, run: &str) -> Result<(), Gone> {
        let mut both = redis::cmd("HDEL");
        self.command::<()>(both.arg(self.all_runs()).arg(run))
            .await?;
        self.command(redis::cmd("DEL").arg(self.mark_of(run))).await
    }

    /// Every program that has not been forgotten.
    pub async fn runs(&self) -> Result<Vec<Run>, Gone> {
        let mut all = redis::cmd("HGETALL");
        let all: Vec<(String, u64)> = self.command(all.arg(self.all_runs())).await?;
        let mut runs = Vec::new();
        for (name, since) in all {
            let mut exists = redis::cmd("EXISTS");
            let is_alive = self.command(exists.arg(self.mark_of(&name))).await?;
            runs.push(Run {
                name,
                since,
                is_alive,
            });
        }
        Ok(runs)
    }

    /// Whether this program is the one to take care of another's acts, for so long.
    pub async fn takes_care_of(&self, run: &str, lasts: Duration) -> Result<bool, Gone> {
        let mut set = redis::cmd("SET");
        set.arg(self.key("audit-care", run)).arg("1").arg("NX");
        set.arg("PX")
            .arg(u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX));
        let taken: Option<String> = self.command(&set).await?;
        Ok(taken.is_some())
    }
}
