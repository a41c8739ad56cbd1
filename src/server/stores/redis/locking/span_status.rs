//! The tracing spans of requests to nodes, and the labels of their outcomes.

use tracing::field::Empty;
use tracing::{Span, info_span};

use super::quorum_round::NodeReply;
use crate::server::stores::redis::key_state::KeyState;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::{ForceReply, ScriptReply};

/// The label of an outcome, and whether it is an error.
type OutcomeLabel = (&'static str, bool);

const DONE: OutcomeLabel = ("done", false);
const NOT_THERE: OutcomeLabel = ("not_found", false);
const OTHER_OWNER: OutcomeLabel = ("other_owner", false);
const WRONG_TYPE: OutcomeLabel = ("wrong_type", false);

impl SpanOutcome for NodeReply {
    fn outcome_label(&self) -> OutcomeLabel {
        match self {
            Self::Ours { .. } => DONE,
            Self::Absent => NOT_THERE,
            Self::HeldByOther(_) => OTHER_OWNER,
            Self::WrongType(_) => WRONG_TYPE,
            Self::Failed(error) => error_label(error),
        }
    }
}

impl SpanOutcome for Result<ScriptReply, CallError> {
    fn outcome_label(&self) -> OutcomeLabel {
        match self {
            Ok(reply) => script_label(reply),
            Err(error) => error_label(error),
        }
    }
}

impl SpanOutcome for Result<ForceReply, CallError> {
    fn outcome_label(&self) -> OutcomeLabel {
        match self {
            Ok(ForceReply::Reply(reply)) => script_label(reply),
            Ok(ForceReply::HoldChanged) => ("other_hold", false),
            Err(error) => error_label(error),
        }
    }
}

/// The fencing counter of the node, or 0 if the lock is no longer there.
impl SpanOutcome for Result<u64, CallError> {
    fn outcome_label(&self) -> OutcomeLabel {
        match self {
            Ok(0) => NOT_THERE,
            Ok(_) => DONE,
            Err(error) => error_label(error),
        }
    }
}

impl SpanOutcome for Result<Option<KeyState>, CallError> {
    fn outcome_label(&self) -> OutcomeLabel {
        match self {
            Ok(Some(_)) => DONE,
            Ok(None) => NOT_THERE,
            Err(error) => error_label(error),
        }
    }
}

fn script_label(reply: &ScriptReply) -> OutcomeLabel {
    match reply {
        ScriptReply::Done | ScriptReply::Rewritten => DONE,
        ScriptReply::StillHeld { .. } => ("still_held", false),
        ScriptReply::Missing => NOT_THERE,
        ScriptReply::OtherOwner { .. } => OTHER_OWNER,
        ScriptReply::WrongType { .. } => WRONG_TYPE,
    }
}

/// The error text of a node goes to the log and the response, not into the trace: it could repeat
/// what was sent, such as a token.
fn error_label(error: &CallError) -> OutcomeLabel {
    match error {
        CallError::NotSent { .. } => ("skipped", true),
        CallError::NoReply { .. } => ("timeout", true),
        CallError::Rejected { .. } => ("rejected", true),
    }
}

/// The span of one request to a node.
pub(super) struct NodeSpan {
    span: Span,
    is_finished: bool,
}

/// A reply that has an outcome label.
pub(super) trait SpanOutcome {
    /// The label of this outcome, and whether it is an error.
    fn outcome_label(&self) -> OutcomeLabel;
}

impl NodeSpan {
    /// Starts the span of a request to a node, as a child of the current span. Requests outside of
    /// an operation, such as cleanup jobs, are not traced.
    pub(super) fn start(operation: &'static str, node: &str) -> Self {
        // Without a current span, the request belongs to no operation.
        let is_traced = !Span::current().is_none() && SPANS_SUPPRESSED.try_with(|()| ()).is_err();
        let span = if is_traced {
            info_span!(
                "node",
                otel.name = operation,
                otel.kind = "client",
                otel.status_code = Empty,
                db.system.name = "redis",
                lockkeeper.node = node,
                lockkeeper.outcome = Empty,
            )
        } else {
            Span::none()
        };
        Self {
            span,
            is_finished: false,
        }
    }

    /// Waits for the reply and records its outcome.
    pub(super) async fn record<T: SpanOutcome>(mut self, reply: impl Future<Output = T>) -> T {
        let reply = reply.await;
        let (label, is_error) = reply.outcome_label();
        self.span.record("lockkeeper.outcome", label);
        if is_error {
            self.span.record("otel.status_code", "error");
        }
        self.is_finished = true;
        reply
    }
}

impl Drop for NodeSpan {
    fn drop(&mut self) {
        // The other nodes decided the round before this one replied.
        if !self.is_finished {
            self.span.record("lockkeeper.outcome", "pending");
        }
    }
}

/// The number of attempts of one waiting acquire that are traced node by node; after these, only
/// attempts whose number is a power of two. An acquire that waits for minutes makes a thousand
/// attempts. Tracing all of them would displace the traces of other requests from the export queue,
/// and no collector accepts a trace with that many spans.
const MAX_CONSECUTIVE_TRACED_TRIES: u32 = 8;

tokio::task_local! {
    /// Set while requests to nodes are not traced.
    static SPANS_SUPPRESSED: ();
}

/// Runs an attempt of a waiting acquire, with node spans only if its number (from 1) is to be
/// traced.
pub(super) async fn trace_try<F: Future>(n: u32, attempt: F) -> F::Output {
    if n <= MAX_CONSECUTIVE_TRACED_TRIES || n.is_power_of_two() {
        attempt.await
    } else {
        SPANS_SUPPRESSED.scope((), attempt).await
    }
}
