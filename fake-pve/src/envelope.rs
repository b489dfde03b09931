//! Results into the bodies of Proxmox's formatters: `json`, `extjs` and the few for other programs.

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Data, Failure};
use crate::http::Reply;

const JSON: &str = "application/json;charset=UTF-8";

/// A formatter of `/api2/<format>/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Real status codes; `data`, and `message` and `errors` when refused.
    Json,
    /// Always 200; `success`, `status` and `message` in the body.
    ExtJs,
    /// `extjs` as text for a form's hidden frame.
    HtmlJs,
    /// A page for a person.
    Html,
    /// A connection file for remote-viewer.
    SpiceConfig,
    /// The `image` of the result.
    Png,
}

impl Format {
    /// The formatter of a name in the URL.
    pub fn named(name: &str) -> Option<Format> {
        Some(match name {
            "json" => Format::Json,
            "extjs" => Format::ExtJs,
            "htmljs" => Format::HtmlJs,
            "html" => Format::Html,
            "spiceconfig" => Format::SpiceConfig,
            "png" => Format::Png,
            _ => return None,
        })
    }
}

/// `301 Moved` without a body, as the `html` pages send people about.
pub fn moved(to: &str) -> Reply {
    let mut reply = Reply::bare(301, "Moved");
    reply.headers.push(("Location", to.into()));
    reply
}

/// A login through the `html` form: the only place where a cookie is set.
pub fn logged_in(login: &Data) -> Reply {
    let ticket = login.value["ticket"].as_str().unwrap_or_default();
    let ticket = percent_encoding::utf8_percent_encode(ticket, percent_encoding::NON_ALPHANUMERIC);
    let mut reply = moved("/api2/html");
    reply.headers.push(("Set-Cookie", format!("PVEAuthCookie={ticket}; path=/; secure; SameSite=Lax;")));
    reply
}

/// The reply for an answer. One that was passed on has its status from a header field: as text, in `extjs`.
pub fn reply(format: Format, answer: Answer, passed_on: bool) -> Reply {
    if let Ok(Data { raw: Some(raw), .. }) = answer {
        let mut reply = Reply::new(200, "OK", raw.content_type, raw.bytes);
        reply.headers = raw.headers;
        return reply;
    }
    let status = answer.as_ref().map_or_else(|failure| failure.status, |_| 200);
    let reason = answer
        .as_ref()
        .map_or_else(|failure| failure.reason.clone().unwrap_or_else(|| failure.message.clone()), |_| "OK".to_string());
    match format {
        Format::Json => Reply::new(status, &reason, JSON, body(&json_body(answer))),
        Format::ExtJs => Reply::new(200, "OK", JSON, body(&extjs_body(answer, passed_on))),
        Format::HtmlJs => {
            let text = escape(&extjs_body(answer, passed_on).to_string());
            Reply::new(200, "OK", "text/html;charset=UTF-8", text.into_bytes())
        }
        Format::Html => {
            let page = format!("<!DOCTYPE html>\n<pre>{}</pre>\n", escape(&format!("{:#}", json_body(answer))));
            Reply::new(status, &reason, "text/html;charset=UTF-8", page.into_bytes())
        }
        Format::SpiceConfig => Reply::new(status, &reason, "application/x-virt-viewer;charset=UTF-8", viewer(&answer)),
        Format::Png => Reply::new(status, &reason, "image/png", Vec::new()),
    }
}

fn json_body(answer: Answer) -> Value {
    let mut object = Map::new();
    match answer {
        Ok(data) => result(&mut object, data),
        Err(failure) => {
            object.insert("data".into(), Value::Null);
            object.insert("message".into(), json!(wire_message(&failure)));
            errors(&mut object, &failure);
        }
    }
    Value::Object(object)
}

fn extjs_body(answer: Answer, passed_on: bool) -> Value {
    let mut object = Map::new();
    match answer {
        Ok(data) => {
            object.insert("success".into(), json!(1));
            result(&mut object, data);
        }
        Err(failure) => {
            object.insert("success".into(), json!(0));
            let status = if passed_on { json!(failure.status.to_string()) } else { json!(failure.status) };
            object.insert("status".into(), status);
            object.insert("message".into(), json!(wire_message(&failure)));
            object.insert("data".into(), Value::Null);
            errors(&mut object, &failure);
        }
    }
    Value::Object(object)
}

/// A long list is moved here, not copied.
fn result(object: &mut Map<String, Value>, data: Data) {
    object.insert("data".into(), data.value);
    if let Some(total) = data.total.filter(|total| *total > 0) {
        object.insert("total".into(), json!(total));
    }
    if let Some(changes) = data.changes {
        object.insert("changes".into(), json!(changes));
    }
}

fn errors(object: &mut Map<String, Value>, failure: &Failure) {
    if !failure.errors.is_empty() {
        object.insert("errors".into(), json!(failure.errors));
    }
}

/// Messages keep the line end that Perl's `die` gave them.
fn wire_message(failure: &Failure) -> String {
    if failure.bare { failure.message.clone() } else { format!("{}\n", failure.message) }
}

fn body(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Keys sorted; nothing for a refusal.
fn viewer(answer: &Answer) -> Vec<u8> {
    let Ok(data) = answer else { return Vec::new() };
    let mut text = String::from("[virt-viewer]\n");
    let sorted: std::collections::BTreeMap<_, _> = data.value.as_object().into_iter().flatten().collect();
    for (key, value) in sorted {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        text.push_str(&format!("{key}={value}\n"));
    }
    text.into_bytes()
}
