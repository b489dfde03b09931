//! `/nodes/{node}/journal` and `/nodes/{node}/syslog`: what the services of a node said.

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data};

/// One line.
struct Line {
    time: i64,
    tag: String,
    text: String,
}

/// `GET /nodes/{node}/journal`: the lines between two cursors, which are the first and the last entry.
pub(crate) fn journal(call: &mut Call<'_>) -> Answer {
    let since = call.params.get("startcursor").as_deref().and_then(moment_of).or(call.params.int("since"));
    let until = call.params.get("endcursor").as_deref().and_then(moment_of).or(call.params.int("until"));
    let service = call.params.get("service").or_else(|| call.params.get("unit"));
    let mut lines = lines(call);
    lines.retain(|line| since.is_none_or(|since| line.time >= since) && until.is_none_or(|until| line.time <= until));
    lines.retain(|line| service.as_ref().is_none_or(|service| is_of(line, service)));
    if let Some(last) = call.params.int("lastentries").and_then(|last| usize::try_from(last).ok()) {
        lines.drain(..lines.len().saturating_sub(last));
    }
    let now = call.now();
    let first = lines.first().map_or(now, |line| line.time);
    let last = lines.last().map_or(now, |line| line.time);
    let shown = lines.into_iter().map(|line| json!(line.text));
    let all = [json!(cursor(first))].into_iter().chain(shown).chain([json!(cursor(last))]);
    Ok(Data::from(all.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/syslog`.
pub(crate) fn syslog(call: &mut Call<'_>) -> Answer {
    let number = |name: &str, default: usize| {
        call.params.int(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    };
    let (start, limit) = (number("start", 0), number("limit", 50));
    let day = |text: String| -> Option<i64> {
        let civil: jiff::civil::DateTime = text
            .replace(' ', "T")
            .parse()
            .ok()
            .or_else(|| text.parse::<jiff::civil::Date>().ok().map(|date| date.at(0, 0, 0, 0)))?;
        Some(jiff::tz::Offset::UTC.to_timestamp(civil).ok()?.as_second())
    };
    let (since, until) = (call.params.get("since").and_then(day), call.params.get("until").and_then(day));
    let service = call.params.get("service");
    let mut lines = lines(call);
    lines.retain(|line| since.is_none_or(|since| line.time >= since) && until.is_none_or(|until| line.time <= until));
    lines.retain(|line| service.as_ref().is_none_or(|service| is_of(line, service)));
    let mut texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    if texts.is_empty() {
        texts.push("-- No entries --".into());
    }
    let total = texts.len();
    let part = texts.into_iter().enumerate().skip(start).take(if limit == 0 { usize::MAX } else { limit });
    let part: Vec<Value> = part.map(|(at, text)| json!({"n": at + 1, "t": text})).collect();
    Ok(Data::from(part).with_total(total))
}

/// The start of the node, and the cluster's log as far as this node wrote it.
fn lines(call: &Call<'_>) -> Vec<Line> {
    let node = call.node();
    let booted = call.world.nodes.get(&node).and_then(|node| node.booted).unwrap_or_default();
    let mut lines = vec![
        line(booted, &node, "kernel", None, "Linux version 6.17.4-2-pve"),
        line(booted + 8, &node, "pve-firewall", Some(1102), "starting server"),
        line(booted + 9, &node, "pvedaemon", Some(1180), "starting server"),
        line(booted + 10, &node, "pveproxy", Some(1195), "starting server"),
    ];
    let told = call.world.log.iter().filter(|entry| entry.node == node);
    lines.extend(told.map(|entry| {
        let text = format!("<{}> {}", entry.user, entry.msg);
        line(entry.time, &node, &entry.tag, Some(entry.pid), &text)
    }));
    lines.sort_by_key(|line| line.time);
    lines
}

fn line(time: i64, node: &str, tag: &str, pid: Option<u32>, text: &str) -> Line {
    let at = jiff::Timestamp::from_second(time).unwrap_or_default();
    let pid = pid.map(|pid| format!("[{pid}]")).unwrap_or_default();
    Line { time, tag: tag.into(), text: format!("{} {node} {tag}{pid}: {text}", at.strftime("%b %d %H:%M:%S")) }
}

fn is_of(line: &Line, service: &str) -> bool {
    line.tag == service.trim_end_matches(".service")
}

/// A cursor of the journal; ours holds its moment.
fn cursor(time: i64) -> String {
    format!(
        "s=00000000000000000000000000000001;i=1;b=00000000000000000000000000000001;m=1;t={:x};x=1",
        time * 1_000_000
    )
}

fn moment_of(cursor: &str) -> Option<i64> {
    let hex = cursor.split(';').find_map(|part| part.strip_prefix("t="))?;
    Some(i64::from_str_radix(hex, 16).ok()? / 1_000_000)
}
