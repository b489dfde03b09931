//! Asking Proxmox for data inside a workflow, and saying what it answered in plain forms: numbers that may come as text, sizes
//! with their unit, text of guests on one line.

use futures_util::future::join_all;
use jiff::Timestamp;
use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value};

use crate::error::{Code, Fault};
use crate::policy::ApiCall;
use crate::pve::Answer;
use crate::redact;
use crate::ssh::clean;
use crate::tools::arguments::{self, Options};
use crate::tools::{Ctx, Reply};

/// How many requests of one workflow are under way at once.
const AT_ONCE: usize = 8;

/// Longest text of a guest or a log that is shown, in characters.
const MOST_TEXT: usize = 200;

/// Reads a path of the catalogue: `values` fill its placeholders.
///
/// # Errors
/// As [`Ctx::api`]; `bad_argument` when a value cannot stand in a path.
pub async fn answer(
    ctx: &Ctx,
    template: &str,
    values: &[(&str, &str)],
    params: &[(&str, &str)],
) -> Result<Answer, Fault> {
    let method = Catalog::embedded().get(Verb::Get, template);
    let method = method.ok_or_else(|| Fault::new(Code::Internal, format!("{template} is no path of the catalogue")))?;
    let call = ApiCall::of(method, owned(values), owned(params)).map_err(arguments::unacceptable)?;
    let mut answer = ctx.read(call).await?;
    answer.data = redact::value(Some(method), &answer.data);
    Ok(answer)
}

/// The data of [`answer`].
///
/// # Errors
/// As [`answer`].
pub async fn data(ctx: &Ctx, template: &str, values: &[(&str, &str)]) -> Result<Value, Fault> {
    Ok(answer(ctx, template, values, &[]).await?.data)
}

/// The rows of a list.
///
/// # Errors
/// As [`answer`].
pub async fn rows(
    ctx: &Ctx,
    template: &str,
    values: &[(&str, &str)],
    params: &[(&str, &str)],
) -> Result<Vec<Value>, Fault> {
    match answer(ctx, template, values, params).await?.data {
        Value::Array(rows) => Ok(rows),
        _ => Ok(Vec::new()),
    }
}

/// The same question about many things, a few at once; the answers come in the order of the things.
pub async fn each<'i, I, T, F>(items: &'i [I], ask: impl Fn(&'i I) -> F) -> Vec<T>
where
    F: Future<Output = T>,
{
    let mut answers = Vec::with_capacity(items.len());
    for some in items.chunks(AT_ONCE) {
        answers.extend(join_all(some.iter().map(&ask)).await);
    }
    answers
}

/// Calls a method that changes something, with the treatment of arguments that its own tool gives them.
///
/// # Errors
/// As for the method's tool.
pub async fn write(
    ctx: &Ctx,
    verb: Verb,
    template: &str,
    arguments: Map<String, Value>,
    options: &Options,
) -> Result<Reply, Fault> {
    let method = Catalog::embedded().get(verb, template);
    let method =
        method.ok_or_else(|| Fault::new(Code::Internal, format!("{verb} {template} is not in the catalogue")))?;
    let request = arguments::normalise(method, arguments, ctx).await?;
    let call = ApiCall::of(method, request.values, request.params).map_err(arguments::unacceptable)?;
    let ours = request.options;
    let options = Options { left_out: ours.left_out, warnings: ours.warnings, ..options.clone() };
    ctx.perform(call, &options).await
}

/// What a caller asked about waiting and dry runs.
pub fn options(given: &crate::tools::Given) -> Options {
    Options {
        wait: given.flag("wait"),
        wait_seconds: given.integer("wait_seconds").and_then(|seconds| u64::try_from(seconds).ok()),
        dry_run: given.flag("dry_run").unwrap_or(false),
        ..Options::default()
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// A text member.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A number member, which may come as text.
pub fn number(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)? {
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    }
}

/// A whole number member, which may come as text.
pub fn whole(value: &Value, key: &str) -> Option<i64> {
    match value.get(key)? {
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(flag) => Some(i64::from(*flag)),
        other => other.as_i64().or_else(|| other.as_f64().map(|number| number as i64)),
    }
}

/// A switch: `1`, `"1"` or `true`.
pub fn is_on(value: &Value, key: &str) -> bool {
    whole(value, key) == Some(1)
}

/// Text that somebody else wrote (a guest's name, a note, a line of a log), on one line: no control or direction characters,
/// no secrets, cut where it is long.
pub fn foreign(text: &str) -> String {
    let line = clean::line(text);
    match line.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A foreign text member.
pub fn foreign_of(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(foreign).filter(|text| !text.is_empty())
}

/// `1.5 GiB`.
pub fn size(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut left = bytes.max(0.0);
    let mut unit = 0;
    while left >= 1024.0 && unit + 1 < UNITS.len() {
        left /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{left:.0} bytes") } else { format!("{left:.1} {}", UNITS[unit]) }
}

/// Part of a whole in per cent with one decimal; `None` of nothing.
pub fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole * 1000.0).round() / 10.0)
}

/// `2026-12-01 12:00 UTC`.
pub fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_have_units_and_numbers_may_be_text() {
        assert_eq!(
            (size(512.0), size(1536.0), size(8.0 * 1024.0 * 1024.0 * 1024.0)),
            ("512 bytes".into(), "1.5 KiB".into(), "8.0 GiB".into())
        );
        let row = json!({"a": "2048", "b": 2, "c": true, "d": "N/A"});
        assert_eq!(
            (whole(&row, "a"), number(&row, "b"), whole(&row, "c"), number(&row, "d")),
            (Some(2048), Some(2.0), Some(1), None)
        );
        assert_eq!(percent(1.0, 0.0), None);
        assert_eq!(moment(1_796_126_400), "2026-12-01 12:00 UTC");
    }

    #[test]
    fn foreign_text_is_one_plain_line() {
        assert_eq!(foreign("web\u{202e}gnp\n\x1b[31mroot:\x07 delete all"), "webgnp root: delete all");
        assert_eq!(foreign(&"x".repeat(500)).chars().count(), 201);
    }
}
