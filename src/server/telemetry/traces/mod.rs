//! What is told of a request, span by span: the request, the act that it asks for, and each node that is asked for that.
//!
//! No span names a lock, an owner, a token or a person, so a trace may be kept where not everybody may see those. How spans are
//! noted down and told is `crate::otel`'s; in a build without the feature `otel`, nothing of this does anything.

use http::{HeaderMap, Method};

use crate::domain::{ActKind, Fault, Format};
use crate::otel::Span;

/// What a span is to others.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Somebody asked for it from outside.
    Server,
    /// Somebody else is asked.
    Client,
    /// Neither.
    Internal,
}

/// What a line of the log is found by, beside the trace.
pub struct TraceIds {
    /// The trace.
    pub trace: [u8; 16],
    /// The span in it.
    pub span: [u8; 8],
}

impl TraceIds {
    /// As they are written everywhere.
    pub fn text(&self) -> (String, String) {
        (hex(&self.trace), hex(&self.span))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a request, an act or a node came to where nobody waited for its end.
const GIVEN_UP: &str = "given-up";

/// A request that is being answered.
pub struct Request {
    span: Span,
    is_answered: bool,
}

impl Request {
    /// Begins: as a part of the caller's trace, where it sent one along. Those who only look whether the console lives are many, and
    /// of no interest.
    pub fn begin(method: &Method, path: &str, headers: &HeaderMap) -> Option<Self> {
        if matches!(path, "/healthz" | "/readyz" | "/metrics") {
            return None;
        }
        let traceparent = headers.get("traceparent").map(|sent| sent.as_bytes());
        let method = name_of(method);
        let span = Span::of_caller(traceparent, method, Kind::Server);
        span.set("http.request.method", method);
        Some(Self {
            span,
            is_answered: false,
        })
    }

    /// What is done while this future is worked on is done for the request, which is called so in the log.
    pub fn around<F: Future>(
        &self,
        id: &str,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        if self.span.is_recorded() {
            self.span.set("lockkeeper.request_id", id.to_owned());
        }
        self.span.around(future)
    }

    /// It was answered.
    pub fn answered(mut self, status: u16) {
        self.is_answered = true;
        self.span
            .set_number("http.response.status_code", status.into());
        if status >= 500 {
            self.span.fail();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_answered {
            self.span.set("error.type", GIVEN_UP);
        }
    }
}

/// A method, for names of which there are few: whatever else somebody made up is `_OTHER`.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}

/// The request that is being answered is for this route (`/api/v1/groups/{group}/locks/{key}`). The address itself is not told: a
/// lock's name is in it.
pub fn for_route(method: &Method, pattern: &str) {
    let span = Span::current();
    if span.is_recorded() {
        span.rename(format!("{} {pattern}", name_of(method)));
        span.set("http.route", pattern.to_owned());
    }
}

/// What is begun while this future is worked on belongs to what is done right now, also where somebody else works on it.
pub fn carried<F: Future>(future: F) -> impl Future<Output = F::Output> + use<F> {
    Span::current().around(future)
}

/// An act, or something of the kind that the console does by itself.
pub struct Act {
    span: Span,
    has_ended: bool,
}

impl Act {
    /// An act begins that a request asks for. Only a group that there is has a name: others are whatever somebody sent.
    pub fn begin(act: ActKind, group: Option<&str>) -> Self {
        Self::new(Span::below(act.slug(), Kind::Internal), group)
    }

    /// The console renews a lock that it keeps for its owner.
    pub fn renewal(group: &str, format: Format) -> Self {
        let act = Self::new(Span::root("renew"), Some(group));
        act.span.set("lockkeeper.format", format.slug());
        act
    }

    /// A pass over all keys of a node begins.
    pub fn scan(group: &str, node: &str) -> Self {
        let act = Self::new(Span::root("scan"), Some(group));
        if act.span.is_recorded() {
            act.span.set("lockkeeper.node", node.to_owned());
        }
        act
    }

    fn new(span: Span, group: Option<&str>) -> Self {
        if let (Some(group), true) = (group, span.is_recorded()) {
            span.set("lockkeeper.group", group.to_owned());
        }
        Self {
            span,
            has_ended: false,
        }
    }

    /// What is done while this future is worked on is done for it.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        self.span.around(future)
    }

    /// Says how much of something there was.
    pub fn counted(&self, what: &'static str, n: u64) {
        self.span.set_number(what, n);
    }

    /// It ended: `done`, or the code of what it failed with.
    pub fn ended<T>(&mut self, end: &Result<T, Fault>) {
        match end {
            Ok(_) => self.came_to("done"),
            Err(fault) => {
                self.came_to(fault.code());
                if is_trouble(fault) {
                    self.span.fail();
                }
            }
        }
    }

    /// It ended like this.
    pub fn came_to(&mut self, outcome: &'static str) {
        self.has_ended = true;
        self.span.set("lockkeeper.outcome", outcome);
    }

    /// It ended like this, and that is not as it should be.
    pub fn failed(&mut self, outcome: &'static str) {
        self.came_to(outcome);
        self.span.fail();
    }
}

impl Drop for Act {
    fn drop(&mut self) {
        if !self.has_ended {
            self.span.set("lockkeeper.outcome", GIVEN_UP);
        }
    }
}

/// The lock that is acted on right now is written in this format.
pub fn of_format(format: Format) {
    Span::current().set("lockkeeper.format", format.slug());
}

/// So many tries of one who waits for a lock are told node by node; of those that follow, each whose number is a power of two. Who
/// waits for minutes tries a thousand times: told whole, that would push the traces of everybody else out of the queue, and no
/// collector keeps a trace of so many spans.
const TRIES_TOLD: u32 = 8;

/// The try with this number, from 1 on, of one who waits.
pub async fn as_try<F: Future>(n: u32, trying: F) -> F::Output {
    if n <= TRIES_TOLD || n.is_power_of_two() {
        trying.await
    } else {
        Span::untold().around(trying).await
    }
}

/// The act that goes on right now took so many tries.
pub fn tried(n: u32) {
    Span::current().set_number("lockkeeper.tries", n.into());
}

/// Whether somebody has to look after the set-up. That a lock is held, or that somebody may not take it, is in the nature of locks.
fn is_trouble(fault: &Fault) -> bool {
    match fault {
        Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::PartlyReleased { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => true,
        Fault::BadRequest { .. }
        | Fault::Stopping
        | Fault::Impossible { .. }
        | Fault::ConfirmRequired { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::UnknownGroup { .. }
        | Fault::NotObserved { .. }
        | Fault::Held { .. }
        | Fault::NotHeld { .. }
        | Fault::NotOwner { .. }
        | Fault::OwnerChanged { .. }
        | Fault::HoldChanged { .. }
        | Fault::HoldEnded { .. }
        | Fault::WrongType { .. }
        | Fault::TooMany { .. } => false,
    }
}

/// A node that is asked for an act.
pub struct Asked {
    span: Span,
    is_answered: bool,
}

/// What a node's answer means.
pub trait Meaning {
    /// In one of a few words, and whether it is not as it should be.
    fn in_a_word(&self) -> (&'static str, bool);
}

impl Asked {
    /// A node is asked to do this: a part of the act that goes on right now. What nodes are told when an act is over is not noted down.
    pub fn begin(what: &'static str, node: &str) -> Self {
        let span = Span::below(what, Kind::Client);
        if span.is_recorded() {
            span.set("db.system.name", "redis");
            span.set("lockkeeper.node", node.to_owned());
        }
        Self {
            span,
            is_answered: false,
        }
    }

    /// Waits for its answer, and notes down what it means.
    pub async fn hear<T: Meaning>(mut self, answer: impl Future<Output = T>) -> T {
        let answer = answer.await;
        let (word, is_trouble) = answer.in_a_word();
        self.span.set("lockkeeper.outcome", word);
        if is_trouble {
            self.span.fail();
        }
        self.is_answered = true;
        answer
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // The others have decided, and nobody waited for it.
        if !self.is_answered {
            self.span.set("lockkeeper.outcome", "pending");
        }
    }
}
