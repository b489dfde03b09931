//! What a request says, read in Proxmox's order: its address, its body, its query, the values in its path.

use pve_catalog::Verb;
use serde_json::{Map, Value};

use super::Shared;
use crate::behaviour::Failure;
use crate::http::body::BodyError;
use crate::http::multipart::{self, Upload};
use crate::http::params::{self, BodyType};
use crate::http::{Reply, Request};

/// Longest body of a call.
const BODY_LIMIT: usize = 512 << 10;

/// Parameters, and the file that came with them.
pub(super) struct Given {
    pub params: Map<String, Value>,
    pub upload: Option<Upload>,
}

/// Only bodies of an announced length are read.
pub(super) fn unknown_transfer(request: &Request) -> Option<Reply> {
    match request.header("transfer-encoding") {
        "" => None,
        "chunked" => Some(Reply::text(501, "chunked transfer encoding not supported")),
        other => Some(Reply::text(501, &format!("Unknown transfer encoding '{other}'"))),
    }
}

/// `/api2/json/version` -> `json`, `/version`. An empty format is an unknown one.
pub(super) fn api_path(path: &str) -> Option<(String, String)> {
    let rest = path.strip_prefix("/api2/")?.trim_start_matches('/');
    let (format, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let word = format.starts_with(|c: char| c.is_ascii_lowercase()) && format.len() > 1;
    let plain = format.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (word && plain).then(|| (format.to_string(), format!("/{rest}")))
}

/// The storage that an upload goes to.
pub(super) fn upload_target(verb: Verb, path: &str) -> Option<&str> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["nodes", _, "storage", storage, "upload"] if verb == Verb::Post => Some(storage),
        _ => None,
    }
}

/// Body, then query on top of it.
pub(super) async fn given(shared: &Shared, request: &mut Request, verb: Verb, path: &str) -> Result<Given, Reply> {
    let mut given = Given { params: Map::new(), upload: None };
    let query = params::form(request.query.as_bytes());
    let form = upload_target(verb, path).and_then(|_| multipart::boundary(request.header("content-type")));
    if let Some(boundary) = form {
        let tmpfilename = format!("/var/tmp/pveupload-{}", shared.lock().world.random.hex(32));
        let algorithm = query.get("checksum-algorithm").and_then(Value::as_str).map(str::to_string);
        let read = multipart::read(&mut request.body, &boundary, tmpfilename, algorithm).await;
        let (texts, upload) = read.map_err(|text| Reply::text(500, &text))?;
        (given.params, given.upload) = (texts, Some(upload));
    } else if verb.has_body() {
        given.params = read_body(request).await?;
    } else if request.body.announced() > 0 {
        return Err(Reply::text(501, &format!("Unexpected content for method '{verb}'")));
    }
    given.params.extend(query);
    Ok(given)
}

async fn read_body(request: &mut Request) -> Result<Map<String, Value>, Reply> {
    if request.body.announced() > BODY_LIMIT as u64 {
        return Err(Reply::text(501, "for data too large"));
    }
    if request.body.announced() == 0 {
        return Ok(Map::new());
    }
    let kind = BodyType::of(request.header("content-type"))
        .map_err(|kind| Reply::text(506, &format!("upload 'Content-Type '{kind}' not implemented")))?;
    let body = request.body.read(BODY_LIMIT).await.map_err(|error| match error {
        BodyError::TooLarge => Reply::text(501, "for data too large"),
        BodyError::Cut => Reply::bare(400, "bad request"),
    })?;
    match kind {
        BodyType::Form => Ok(params::form(&body)),
        BodyType::Json => params::json(&body).map_err(|text| Reply::text(500, &text)),
    }
}

/// A parameter of the path may be given again, but not with another value.
pub(super) fn with_path_values(
    mut given: Map<String, Value>,
    values: &[(&str, &str)],
) -> Result<Map<String, Value>, Failure> {
    let mut conflicts = std::collections::BTreeMap::new();
    for (name, value) in values {
        let before = given.insert((*name).to_string(), Value::from(*value));
        let before = before.as_ref().and_then(crate::behaviour::params::scalar);
        if before.is_some_and(|before| before != *value) {
            let text = "duplicate parameter (already defined in URI) with conflicting values!";
            conflicts.insert((*name).to_string(), text.to_string());
        }
    }
    if conflicts.is_empty() { Ok(given) } else { Err(Failure::params(conflicts)) }
}
