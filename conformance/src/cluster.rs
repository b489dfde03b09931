//! The cluster asked directly, past the server that is judged: to prepare a world, and to look at what became of it.

use fake_pve::FakePve;
use pve_catalog::Method;
use pve_catalog::path::placeholder;
use serde_json::{Map, Value};

/// Who asks: somebody who may do everything.
const ROOT: &str = "root@pam";

/// Makes a call as `root@pam` with the values of its path among the parameters, and waits for the task that it starts.
///
/// # Errors
/// The refusal, or how the task ended.
pub fn call(fake: &FakePve, method: &Method, params: Map<String, Value>) -> Result<Value, String> {
    let (path, params) = split(method.path, params);
    let data = ask(fake, method.verb.word(), &path, params)?;
    fake.finish_tasks();
    match data.as_str().filter(|text| text.starts_with("UPID:")) {
        Some(upid) => ended(fake, upid).map(|()| data),
        None => Ok(data),
    }
}

/// One call on a path with its values.
///
/// # Errors
/// The refusal.
pub fn ask(fake: &FakePve, verb: &str, path: &str, params: Map<String, Value>) -> Result<Value, String> {
    let told = fake.call(Some(ROOT), verb, path, params);
    match told.status {
        200 => Ok(told.data),
        status => Err(format!("{status} {} {:?}", told.message.unwrap_or_default().trim(), told.errors)),
    }
}

/// Whether a task is over and ended well: a warning is no failure.
///
/// # Errors
/// How it ended instead.
pub fn ended(fake: &FakePve, upid: &str) -> Result<(), String> {
    let node = upid.split(':').nth(1).unwrap_or_default();
    let status = ask(fake, "GET", &format!("/nodes/{node}/tasks/{upid}/status"), Map::new())?;
    let how = status["exitstatus"].as_str().unwrap_or_default();
    match how == "OK" || how.starts_with("WARNINGS") {
        true => Ok(()),
        false => Err(format!("its task ended: {status}")),
    }
}

/// A path with its values, and what is left as parameters.
pub fn split(template: &str, mut params: Map<String, Value>) -> (String, Map<String, Value>) {
    let segments = template.split('/').map(|segment| match placeholder(segment) {
        Some(name) => params.shift_remove(name).map(|value| text(&value)).unwrap_or_default(),
        None => segment.to_string(),
    });
    let path = segments.collect::<Vec<_>>().join("/");
    (path, params)
}

/// A value as it stands in a path.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
