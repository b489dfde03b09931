//! Tasks as tests await them.

use serde_json::Value;

use crate::client::{Api, Got};

/// Posts, looks at the task, and checks how it ended; its UPID.
#[track_caller]
pub fn run<'a>(api: &'a Api, path: &'a str, form: Value, end: &'a str) -> impl Future<Output = String> + 'a {
    let place = std::panic::Location::caller();
    async move {
        let got = api.post(path, form).await;
        let upid = upid(&got);
        let status = status(api, &upid).await;
        assert_eq!(status, end, "{path}, at {place}");
        upid
    }
}

/// The UPID of an answer.
pub fn upid(got: &Got) -> String {
    got.data().as_str().expect("a UPID").to_string()
}

/// How a task ended; empty while it runs.
pub async fn status(api: &Api, upid: &str) -> String {
    let got = api.get(&format!("/nodes/{}/tasks/{upid}/status", node(upid))).await;
    got.data()["exitstatus"].as_str().unwrap_or_default().to_string()
}

/// The lines of its log.
pub async fn log(api: &Api, upid: &str) -> Vec<String> {
    let got = api.get(&format!("/nodes/{}/tasks/{upid}/log?limit=0", node(upid))).await;
    let lines = got.data().as_array().into_iter().flatten();
    lines.filter_map(|line| line["t"].as_str().map(str::to_string)).collect()
}

fn node(upid: &str) -> &str {
    upid.split(':').nth(1).unwrap_or_default()
}
