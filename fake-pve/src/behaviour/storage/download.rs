//! Files that a node fetches: from a URL, from a registry of container images; and questions about them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::content::file;
use super::upload::{enabled, file_format, normalised};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::web::{WebFile, mimetype};
use crate::world::{World, plugin::Plugin, size};

/// What is to be fetched, and where it goes.
pub(crate) struct Fetch {
    pub url: String,
    pub volid: String,
    pub content: String,
    pub format: String,
    /// Algorithm and expected value.
    pub checksum: Option<(String, String)>,
    pub compression: Option<String>,
    pub check_certificate: bool,
}

/// `GET /nodes/{node}/query-url-metadata`.
pub(crate) fn metadata(call: &mut Call<'_>) -> Answer {
    let url = call.params.text("url");
    let found = call.world.behind(&url);
    let found = found.map_err(|status| Failure::die(format!("invalid server response: '{status}'")))?;
    let path = url.split('?').next().unwrap_or_default();
    let last = path.split_once("://").and_then(|(_, rest)| rest.rsplit_once('/')).map(|(_, name)| name.to_string());
    let filename = found.filename.or(last).filter(|name| !name.is_empty());
    let mut answer = Map::new();
    let kind = found.mimetype.unwrap_or_else(|| mimetype(filename.as_deref().unwrap_or("index.html")).into());
    answer.insert("mimetype".into(), json!(kind));
    answer.insert("size".into(), json!(found.size));
    if let Some(filename) = filename {
        answer.insert("filename".into(), json!(filename));
    }
    Ok(Value::Object(answer).into())
}

/// `POST /nodes/{node}/storage/{storage}/download-url`.
pub(crate) fn from_url(call: &mut Call<'_>) -> Answer {
    let (node, id, content) = (call.node(), call.params.text("storage"), call.params.text("content"));
    let storage = enabled(call, &node, &id)?;
    let plugin = storage.plugin();
    if !Plugin::named(&plugin).is_some_and(|plugin| plugin.file_based) {
        return Err(Failure::die(format!("can't upload to storage type '{plugin}', not a file based storage!")));
    }
    if !storage.holds(&content) {
        return Err(Failure::die(format!("storage '{id}' is not configured for content-type '{content}'")));
    }
    let filename = normalised(&call.params.text("filename"));
    let format = file_format(&content, &filename)?;
    call.world.usable_storage(&node, &id)?;
    let checksum = call.params.get("checksum").map(|sum| (call.params.text("checksum-algorithm"), sum));
    let fetch = Fetch {
        url: call.params.text("url"),
        volid: format!("{id}:{content}/{filename}"),
        content,
        format,
        checksum,
        compression: call.params.get("compression"),
        check_certificate: call.params.flag("verify-certificates").unwrap_or(true),
    };
    start(call, fetch, &filename)
}

/// Starts a download as a task.
pub(crate) fn start(call: &mut Call<'_>, fetch: Fetch, filename: &str) -> Answer {
    let size = call.world.behind(&fetch.url).map_or(0, |found| found.size);
    let id = pve_catalog::upid::encode_id(filename);
    let task = call.task("download", &id).lasts(Duration::from_secs(2 + size / (120 << 20)));
    let task = task.finish(move |run| download(run, &fetch));
    call.start(task)
}

fn download(run: &mut Run<'_>, fetch: &Fetch) -> Result<(), String> {
    let (node, url) = (run.node.to_string(), &fetch.url);
    if fetch.compression.is_some() && fetch.content != "iso" {
        return Err(format!("decompression not supported for {}", fetch.content));
    }
    let target = run.world.volume_path(&fetch.volid)?;
    run.log(format!("downloading {url} to {target}"));
    if let Some(present) = run.world.volume(&node, &fetch.volid) {
        let origin = present.payload.as_ref().and_then(|payload| payload["url"].as_str());
        let origin = origin.unwrap_or(&fetch.volid).to_string();
        let Some((algorithm, expected)) = &fetch.checksum else {
            return Err(format!("refusing to override existing file '{target}'"));
        };
        let got = run.world.checksum_behind(&origin, algorithm);
        if got.eq_ignore_ascii_case(expected) {
            run.log("calculating checksum of existing file...OK, got correct file already, no need to download");
            return Ok(());
        }
        run.log("calculating checksum of existing file...");
        return Err(format!("checksum mismatch: got '{got}' != expect '{expected}', aborting"));
    }
    let temporary = format!("{target}.tmp_dwnl.{}", run.world.last_pid);
    let found = wget(run, fetch, &temporary)?;
    let mut bytes = found.size;
    if let Some((algorithm, expected)) = &fetch.checksum {
        let got = run.world.checksum_behind(url, algorithm);
        if !got.eq_ignore_ascii_case(expected) {
            run.log("calculating checksum...");
            return Err(format!("checksum mismatch: got '{got}' != expect '{expected}'"));
        }
        run.log("calculating checksum...OK, checksum verified");
    }
    if fetch.compression.is_some() {
        run.log(format!("decompressing {temporary} to {target}.tmp_decomp.{}", run.world.last_pid));
        bytes *= 3;
    }
    store(run.world, &node, fetch, bytes, run.now)?;
    run.log(format!("download of '{url}' to '{target}' finished"));
    Ok(())
}

fn store(world: &mut World, node: &str, fetch: &Fetch, bytes: u64, now: i64) -> Result<(), String> {
    let id = fetch.volid.split(':').next().unwrap_or_default();
    if !world.has_room(node, id, bytes) {
        return Err("download failed: No space left on device".into());
    }
    let payload = json!({"url": fetch.url});
    world.put_volume(node, file(&fetch.volid, &fetch.content, &fetch.format, bytes, now, Some(payload)));
    Ok(())
}

/// What wget writes, and what it brings.
fn wget(run: &mut Run<'_>, fetch: &Fetch, temporary: &str) -> Result<WebFile, String> {
    let url = &fetch.url;
    let moment = moment(run.now);
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let port = if scheme == "https" { 443 } else { 80 };
    run.log(format!("--{moment}--  {url}"));
    let mut command = format!("wget '--progress=dot:giga' -O {temporary} {url}");
    if !fetch.check_certificate {
        command.push_str(" --no-check-certificate");
    }
    let failed = |code: u8| Err(format!("download failed: command '{command}' failed: exit code {code}"));
    let found = match run.world.behind(url) {
        Ok(found) => found,
        Err(status) if status.starts_with("404") => {
            run.log(format!("Resolving {host} ({host})... 192.0.2.80"));
            run.log(format!("Connecting to {host} ({host})|192.0.2.80|:{port}... connected."));
            run.log("HTTP request sent, awaiting response... 404 Not Found");
            run.log(format!("{moment} ERROR 404: Not Found."));
            return failed(8);
        }
        Err(_) => {
            run.log(format!("Resolving {host} ({host})... failed: Name or service not known."));
            run.log(format!("wget: unable to resolve host address '{host}'"));
            return failed(4);
        }
    };
    let kind = found.mimetype.clone().unwrap_or_else(|| mimetype(url).into());
    run.log(format!("Resolving {host} ({host})... 192.0.2.80"));
    run.log(format!("Connecting to {host} ({host})|192.0.2.80|:{port}... connected."));
    run.log("HTTP request sent, awaiting response... 200 OK");
    run.log(format!("Length: {} ({}M) [{kind}]", found.size, found.size >> 20));
    run.log(format!("Saving to: '{temporary}'"));
    run.log(format!("     0K ........ ........ ........ ........ 100% {}/s", size::readable(120 << 20)));
    run.log(format!("{moment} (120 MB/s) - '{temporary}' saved [{}/{}]", found.size, found.size));
    Ok(found)
}

/// `2026-12-01 12:00:00`.
pub(crate) fn moment(now: i64) -> String {
    jiff::Timestamp::from_second(now).unwrap_or_default().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `GET /nodes/{node}/query-oci-repo-tags`.
pub(crate) fn oci_tags(call: &mut Call<'_>) -> Answer {
    let reference = call.params.text("reference");
    check_image(call.world, &reference, "list-tags")?;
    let newest = 1 + u64::from_str_radix(&crate::world::digest(&json!(reference))[..1], 16).unwrap_or(0) % 9;
    let tags = (1..=newest).map(|number| json!(number.to_string())).chain([json!("latest")]);
    Ok(tags.collect::<Vec<_>>().into())
}

fn check_image(world: &World, reference: &str, verb: &str) -> Result<(), Failure> {
    match world.behind(&format!("docker://{}", with_registry(reference))) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::die(format!("command 'skopeo {verb} docker://{reference}' failed: exit code 1"))),
    }
}

fn with_registry(reference: &str) -> String {
    match reference.split_once('/') {
        Some((host, _)) if host.contains('.') => reference.to_string(),
        _ => format!("docker.io/{reference}"),
    }
}

/// `POST /nodes/{node}/storage/{storage}/oci-registry-pull`.
pub(crate) fn oci_pull(call: &mut Call<'_>) -> Answer {
    let (node, id, reference) = (call.node(), call.params.text("storage"), call.params.text("reference"));
    let storage = enabled(call, &node, &id)?;
    if !storage.holds("vztmpl") {
        return Err(Failure::die(format!("storage '{id}' is not configured for content-type 'vztmpl'")));
    }
    let last = reference.rsplit('/').next().unwrap_or_default().replace(':', "_");
    let mut filename = normalised(&call.params.get("filename").unwrap_or(last));
    if !filename.ends_with(".tar") {
        filename.push_str(".tar");
    }
    let volid = format!("{id}:vztmpl/{filename}");
    call.world.usable_storage(&node, &id)?;
    let target = call.world.volume_path(&volid)?;
    if call.world.volume(&node, &volid).is_some() {
        return Err(Failure::die(format!("refusing to override existing file '{target}'")));
    }
    let worker = pve_catalog::upid::encode_id(&filename);
    let task = call.task("ociregistrypull", &worker).lasts(Duration::from_secs(8));
    let task = task.finish(move |run| {
        check_image(run.world, &reference, "copy").map_err(|failure| failure.message)?;
        let found = run.world.behind(&format!("docker://{}", with_registry(&reference)))?;
        run.log("Getting image source signatures");
        for part in ["blob", "config"] {
            let sum = crate::world::digest(&json!([reference, part]));
            run.log(format!("Copying {part} sha256:{sum}{}", &sum[..24]));
        }
        run.log("Writing manifest to image destination");
        let payload = json!({"reference": reference});
        run.world.put_volume(&node, file(&volid, "vztmpl", "tar", found.size / 8, run.now, Some(payload)));
        Ok(())
    });
    call.start(task)
}
