//! Spans as OpenTelemetry has them: begun, carried along with what is done, and handed on to be told when they end.
//!
//! There is one provider of spans in a process, as there is one logger. Before it is started, and where a trace is not told,
//! nothing is noted down.

mod queue;
mod tell;

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context as Waking, Poll};

use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{
    SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use pin_project_lite::pin_project;

use crate::server::config::OtlpConfig;
use crate::server::config::telemetry::Sampling;
use crate::server::telemetry::traces::{Kind, TraceIds};
pub use queue::write;
pub use tell::Telling;

/// Whether a collector can be told.
pub const IS_BUILT_IN: bool = true;

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Begins to note down spans and to tell them. Nothing for whoever comes second in a process.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn start(config: &OtlpConfig) -> Option<Telling> {
    let resource = Resource::builder()
        .with_service_name(config.service_name.clone())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let (queue, ended) = queue::queue();
    let provider = SdkTracerProvider::builder()
        .with_sampler(sampler(config.sampling))
        .with_resource(resource.clone())
        .with_span_processor(queue)
        .build();
    let scope = InstrumentationScope::builder("lockkeeper")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build();
    TRACER.set(provider.tracer_with_scope(scope)).ok()?;
    Some(Telling::start(config, &resource, provider, ended))
}

fn sampler(sampling: Sampling) -> Sampler {
    let own = match sampling.ratio {
        1.0 => Sampler::AlwaysOn,
        0.0 => Sampler::AlwaysOff,
        ratio => Sampler::TraceIdRatioBased(ratio),
    };
    if sampling.follows_callers {
        Sampler::ParentBased(Box::new(own))
    } else {
        own
    }
}

/// The trace that whoever asks works for, if there is one.
pub fn trace_of_now() -> Option<TraceIds> {
    TRACER.get()?;
    Context::map_current(|context| {
        let span = context.span();
        let ids = span.span_context();
        ids.is_valid().then(|| TraceIds {
            trace: ids.trace_id().to_bytes(),
            span: ids.span_id().to_bytes(),
        })
    })
}

/// Something that is done, from when this is made until it is dropped.
pub struct Span {
    /// Nothing for what is not noted down.
    context: Option<Context>,
    /// Another one ends it.
    is_borrowed: bool,
}

impl Span {
    fn begin(name: &'static str, kind: Kind, above: &Context) -> Self {
        let begin = |tracer: &SdkTracer| {
            let builder = SpanBuilder::from_name(name).with_kind(match kind {
                Kind::Server => SpanKind::Server,
                Kind::Client => SpanKind::Client,
                Kind::Internal => SpanKind::Internal,
            });
            above.with_span(tracer.build_with_context(builder, above))
        };
        Self {
            context: TRACER.get().map(begin),
            is_borrowed: false,
        }
    }

    /// What somebody asked for, who may have sent along the trace that it belongs to (`traceparent`).
    pub fn of_caller(traceparent: Option<&[u8]>, name: &'static str, kind: Kind) -> Self {
        let nobody = Context::new();
        let Some(text) = traceparent.and_then(|sent| std::str::from_utf8(sent).ok()) else {
            return Self::begin(name, kind, &nobody);
        };
        let propagator = TraceContextPropagator::new();
        let above = propagator.extract_with_context(&nobody, &TraceParent(text));
        Self::begin(name, kind, &above)
    }

    /// What nobody asked for.
    pub fn root(name: &'static str) -> Self {
        Self::begin(name, Kind::Internal, &Context::new())
    }

    /// A part of what is done here right now; nothing where that is not noted down.
    pub fn below(name: &'static str, kind: Kind) -> Self {
        Context::map_current(|above| {
            if above.span().span_context().is_sampled() {
                Self::begin(name, kind, above)
            } else {
                Self {
                    context: None,
                    is_borrowed: true,
                }
            }
        })
    }

    /// What nobody is told of: nothing below it is noted down.
    pub fn untold() -> Self {
        Self {
            context: TRACER.get().map(|_| Context::new()),
            is_borrowed: true,
        }
    }

    /// What is done here right now. It goes on when this is dropped.
    pub fn current() -> Self {
        let is_any = |context: &Context| context.has_active_span().then(|| context.clone());
        Self {
            context: TRACER.get().and_then(|_| Context::map_current(is_any)),
            is_borrowed: true,
        }
    }

    /// Whether anybody will be told.
    pub fn is_recorded(&self) -> bool {
        let is_recording = |context: &Context| context.span().is_recording();
        self.context.as_ref().is_some_and(is_recording)
    }

    /// Calls it something better.
    pub fn rename(&self, name: String) {
        if let Some(context) = &self.context {
            context.span().update_name(name);
        }
    }

    /// Says something about it.
    pub fn set(&self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        if let Some(context) = &self.context {
            let value: Value = value.into().into();
            context.span().set_attribute(KeyValue::new(name, value));
        }
    }

    /// Says how much there is of something.
    pub fn set_number(&self, name: &'static str, value: u64) {
        if let Some(context) = &self.context {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            context.span().set_attribute(KeyValue::new(name, value));
        }
    }

    /// It went wrong.
    pub fn fail(&self) {
        if let Some(context) = &self.context {
            context.span().set_status(Status::error(""));
        }
    }

    /// What is begun while this future is worked on is a part of it.
    pub fn around<F: Future>(&self, future: F) -> Around<F> {
        Around {
            future,
            context: self.context.clone(),
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let (Some(context), false) = (&self.context, self.is_borrowed) {
            context.span().end();
        }
    }
}

/// A header that says which trace a request belongs to. What else the caller's vendor says (`tracestate`) is not taken over: it
/// could be anything, and there is nobody to hand it on to.
struct TraceParent<'a>(&'a str);

impl Extractor for TraceParent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == "traceparent").then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

pin_project! {
    /// A future as a part of a span.
    pub struct Around<F> {
        #[pin]
        future: F,
        context: Option<Context>,
    }
}

impl<F: Future> Future for Around<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _meanwhile = this.context.clone().map(Context::attach);
        this.future.poll(waking)
    }
}
