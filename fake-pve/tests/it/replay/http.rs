//! Recorded exchanges on the wire put to a cluster over TLS, byte for byte.

use std::collections::BTreeMap;
use std::io::Read as _;

use fake_pve::{FakePve, Scenario};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::board::Board;
use super::compare::Verdict;
use super::evidence::Evidence;
use super::normal;
use super::seed;
use super::step::Step;
use crate::raw::{Connection, Reply, parse};

const FILE: &str = "http-transcripts";

/// Values of the recording and what stands for them here: tickets, tokens against forgery, task identifiers.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

/// Plays all exchanges in order on one cluster.
pub async fn exchanges(lines: &[Value], board: &mut Board) {
    let mut world = seed::world();
    // To the recorder both other nodes were out of reach.
    for node in ["pve2", "pve3"] {
        world.nodes.get_mut(node).expect("a node of the seed").online = false;
    }
    let pve = FakePve::builder().scenario(Scenario { world }).start().await.expect("a cluster");
    let mut names = Names::default();
    for (number, line) in lines.iter().enumerate() {
        let label = line["label"].as_str().unwrap_or_default();
        if label == "current" {
            // Outside of what was recorded, the machine was started.
            pve.world(|world| world.guests.get_mut(&100).expect("a guest").power_on(0, 223));
        }
        let step = step(number, label, line);
        let bytes = match line["raw_request"].as_str() {
            Some(raw) => raw.as_bytes().to_vec(),
            None => request(&line["request"], &names),
        };
        let ours = Connection::open(&pve).await.exchange(&bytes).await;
        let recorded = match line["raw_response"].as_str() {
            Some(raw) => parse(raw.as_bytes()),
            None => recorded(&line["response"]),
        };
        names.learn(&recorded.body, &ours.body);
        if !board.wants(&step) {
            continue;
        }
        let verdict = match Evidence::rules().none_in_exchange(label) {
            Some(reason) => Verdict::NoEvidence(reason),
            None if line["exception"].is_string() => cut_off(&ours),
            None => compare(&step, &recorded, &ours),
        };
        board.add(FILE, &step, verdict);
    }
}

fn step(number: usize, label: &str, line: &Value) -> Step {
    let (verb, target) = match line["raw_request"].as_str() {
        Some(_) => ("RAW", label),
        None => (
            line["request"]["method"].as_str().unwrap_or_default(),
            line["request"]["path"].as_str().unwrap_or_default(),
        ),
    };
    let path = target.split('?').next().unwrap_or_default();
    let below = path.strip_prefix("/api2/json").or_else(|| path.strip_prefix("/api2/extjs"));
    Step {
        place: format!("{FILE}:{} {label}", number + 1),
        verb: verb.into(),
        path: below.filter(|below| !below.is_empty()).unwrap_or(path).into(),
        params: Map::new(),
        user: "whoever the request says".into(),
        outcome: Value::Null,
        files: Map::new(),
    }
}

impl Names {
    fn learn(&mut self, recorded: &[u8], ours: &[u8]) {
        let read = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default()["data"].clone();
        let (recorded, ours) = (read(recorded), read(ours));
        let pairs = [
            (&recorded, &ours),
            (&recorded["ticket"], &ours["ticket"]),
            (&recorded["CSRFPreventionToken"], &ours["CSRFPreventionToken"]),
        ];
        for (recorded, ours) in pairs {
            if let (Some(recorded), Some(ours)) = (recorded.as_str().filter(|text| text.len() > 20), ours.as_str()) {
                self.0.insert(recorded.into(), ours.into());
            }
        }
    }

    /// Puts our values where the recording's stand, raw or encoded.
    fn translate(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (recorded, ours) in &self.0 {
            let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let kept = |text: &str| encoded(text).replace("%2E", ".").replace("%2D", "-").replace("%5F", "_");
            let slashes = |text: &str| kept(text).replace("%2F", "/");
            text = text.replace(recorded, ours).replace(&encoded(recorded), &encoded(ours));
            text = text.replace(&kept(recorded), &encoded(ours)).replace(&slashes(recorded), &encoded(ours));
        }
        text
    }
}

fn request(request: &Value, names: &Names) -> Vec<u8> {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let mut head = format!("{} {} HTTP/1.1\r\nHost: pve1:8006\r\n", text("method"), names.translate(text("path")));
    let named = |name: &str| request["headers"].as_object().is_some_and(|headers| headers.contains_key(name));
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let value = names.translate(value.as_str().unwrap_or_default());
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !named("Accept-Encoding") {
        head.push_str("Accept-Encoding: identity\r\n");
    }
    let body = match request["body"].as_str() {
        // Written down as Python shows bytes.
        Some(bytes) if bytes.starts_with("b'") => bytes[2..].trim_end_matches('\'').to_string(),
        Some(body) => names.translate(body),
        None => String::new(),
    };
    if request["body"].is_string() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    [head.as_bytes(), b"\r\n", body.as_bytes()].concat()
}

fn recorded(response: &Value) -> Reply {
    let version = if response["version"] == 10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let line = format!("{version} {} {}", response["status"], response["reason"].as_str().unwrap_or_default());
    let field = |pair: &Value| Some((pair[0].as_str()?.to_lowercase(), pair[1].as_str()?.to_string()));
    let headers = response["headers"].as_array().into_iter().flatten().filter_map(field).collect();
    Reply { line, headers, body: response["body"].as_str().unwrap_or_default().as_bytes().to_vec() }
}

/// The recorder could not send all of a body: it was refused, or the connection was cut.
fn cut_off(ours: &Reply) -> Verdict {
    match ours.line.as_str() {
        "" | "HTTP/1.1 501 for data too large" => Verdict::Matched,
        line => Verdict::Differing(vec![format!("the connection was cut, ours answered {line}")]),
    }
}

fn compare(step: &Step, recorded: &Reply, ours: &Reply) -> Verdict {
    let mut differences = Vec::new();
    let mut differ = |what: &str, recorded: String, ours: String| {
        if recorded != ours {
            differences.push(format!("{what}\n      recorded {recorded}\n      ours     {ours}"));
        }
    };
    differ("status line", normal::message(&recorded.line), normal::message(&ours.line));
    let same_body = body(step, recorded) == body(step, ours);
    differ("headers", fields(recorded, same_body), fields(ours, same_body));
    differ("body", body(step, recorded), body(step, ours));
    if differences.is_empty() { Verdict::Matched } else { Verdict::Differing(differences) }
}

/// Names and values in one order. When the bodies agree, their lengths differ by generated values only.
fn fields(reply: &Reply, same_body: bool) -> String {
    let skipped = |name: &str, value: &str| match name {
        "date" | "expires" => true,
        "content-length" => same_body || value == "0",
        _ => false,
    };
    let kept = reply.headers.iter().filter(|(name, value)| !skipped(name, value));
    let mut lines: Vec<String> = kept.map(|(name, value)| format!("{name}: {value}")).collect();
    lines.sort_unstable();
    lines.join(", ")
}

fn body(step: &Step, reply: &Reply) -> String {
    let header = |name: &str| reply.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if reply.body.starts_with(b"<gzip ") {
        return "packed".into();
    }
    if header("content-encoding") == Some("gzip") {
        let mut text = String::new();
        let unpacked = flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut text);
        return if unpacked.is_ok() { "packed".into() } else { "not to be unpacked".into() };
    }
    let text = String::from_utf8_lossy(&reply.body).replace("&quot;", "\"").replace("&#39;", "'");
    match serde_json::from_str::<Value>(&text) {
        Ok(mut value) => {
            if let Some(message) = value["message"].as_str().map(normal::message) {
                value["message"] = message.into();
            }
            for key in ["ticket", "CSRFPreventionToken"] {
                if value["data"][key].is_string() {
                    value["data"][key] = "<secret>".into();
                }
            }
            normal::data(&value, &Evidence::rules().fields(step)).to_string()
        }
        // Pages for people are ours to write.
        Err(_) if header("content-type").is_some_and(|kind| kind.starts_with("text/html")) => "a page".into(),
        Err(_) => normal::message(&text),
    }
}
