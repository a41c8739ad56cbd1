//! Logging to standard error, as text or JSON. Standard output is reserved for the output of
//! commands.

use std::fmt;
use std::io::IsTerminal as _;

use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt as lines};

use super::otel::{self, BoxedLayer};
use crate::server::config::LogFormat;

/// Starts logging, and tracing if a layer is given. `filter` is the value of `--log`, like `info`
/// or `lockkeeper=debug`.
pub fn start(filter: &str, format: LogFormat, traces: Option<BoxedLayer>) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|why| {
        format!(
            "invalid --log filter {filter:?}: {why}; write it like `info` or `lockkeeper=debug`"
        )
    })?;
    let lines = lines::layer().with_writer(std::io::stderr);
    let lines: BoxedLayer = match format {
        LogFormat::Text => {
            // No escape sequences in a file or a pipe.
            let is_coloured = std::io::stderr().is_terminal();
            let lines = lines.with_ansi(is_coloured).map_event_format(|lines| {
                let lines = lines.with_ansi(is_coloured);
                TraceIdFormatter {
                    inner: lines,
                    format,
                }
            });
            lines.boxed()
        }
        // One object per line, with the fields of an event next to its message.
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true);
            lines
                .map_event_format(|lines| TraceIdFormatter {
                    inner: lines,
                    format,
                })
                .boxed()
        }
    };
    // Spans go to the collector only; a log line has the id of its trace.
    let lines = lines.with_filter(filter_fn(|metadata| metadata.is_event()).and(filter));
    let layers: Vec<BoxedLayer> = [lines.boxed()].into_iter().chain(traces).collect();
    // A second call, as in tests, fails and keeps the settings of the first.
    let _already_started = tracing_subscriber::registry().with(layers).try_init();
    Ok(())
}

/// Appends the ids of the current trace and span to each line.
struct TraceIdFormatter<F> {
    inner: F,
    format: LogFormat,
}

impl<S, N, F> FormatEvent<S, N> for TraceIdFormatter<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some((trace, span)) = otel::current_trace_ids() else {
            return self.inner.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.inner
            .format_event(context, Writer::new(&mut line), event)?;
        let line = line.strip_suffix('\n').unwrap_or(&line);
        match (self.format, line.strip_suffix('}')) {
            (LogFormat::Json, Some(object)) => {
                writeln!(
                    writer,
                    "{object},\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"}}"
                )
            }
            (LogFormat::Text, _) | (LogFormat::Json, None) => {
                writeln!(writer, "{line} trace_id={trace} span_id={span}")
            }
        }
    }
}
