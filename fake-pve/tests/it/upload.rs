//! Uploads: multipart bodies, early refusals, checksums, the task.

use fake_pve::{FakePve, Scenario};
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::client::{Api, Got};
use crate::volumes::ended;

const PATH: &str = "/nodes/pve1/storage/local/upload";

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

/// A body of text parts and a file.
async fn send(api: &Api, path: &str, texts: &[(&str, &str)], file: (&str, &str), content: &str) -> Got {
    let mut body = String::new();
    for (name, value) in texts {
        body.push_str(&format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"));
    }
    let (field, filename) = file;
    body.push_str(&format!(
        "--XX\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{filename}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n{content}\r\n--XX--\r\n"
    ));
    let request = api.http.post(api.at(path)).header(CONTENT_TYPE, "multipart/form-data; boundary=XX");
    api.send(request.body(body)).await
}

#[tokio::test]
async fn a_file_arrives_with_its_log() {
    let (_pve, api) = started(Scenario::empty()).await;
    let got = send(&api, PATH, &[("content", "iso")], ("filename", "a b.iso"), "yyyyyyyyyy").await;
    assert!(got.data().as_str().is_some_and(|upid| upid.contains(":imgcopy::root@pam:")), "{}", got.body);
    let (status, log) = ended(&api, got.data()).await;
    let temporary = log[0].strip_prefix("starting file import from: ").expect("a name").to_string();
    assert!(temporary.starts_with("/var/tmp/pveupload-") && temporary.len() == 51, "{temporary}");
    let expected = [
        "target node: pve1",
        "target file: /var/lib/vz/template/iso/a_b.iso",
        "file size is: 10",
        &format!("command: cp -- {temporary} /var/lib/vz/template/iso/a_b.iso"),
        "finished file import successfully",
        "TASK OK",
    ];
    assert_eq!((status.as_str(), &log[1..]), ("OK", &expected.map(String::from)[..]));
    let list = api.get("/nodes/pve1/storage/local/content?content=iso").await;
    assert_eq!((&list.data()[0]["volid"], &list.data()[0]["size"]), (&json!("local:iso/a_b.iso"), &json!(10)));
    let got = send(&api, PATH, &[("content", "vztmpl")], ("filename", "t.tar.gz"), "x").await;
    assert_eq!(ended(&api, got.data()).await.0, "OK");
}

#[tokio::test]
async fn checksums_are_compared_in_the_task() {
    let (_pve, api) = started(Scenario::empty()).await;
    let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let texts = |sum| [("content", "iso"), ("checksum-algorithm", "sha256"), ("checksum", sum)];
    let shouted = sum.to_uppercase();
    let got = send(&api, PATH, &texts(&shouted), ("filename", "a.iso"), "x").await;
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!((status.as_str(), log[1].as_str()), ("OK", "calculating checksum...OK, checksum verified"));
    let got = send(&api, PATH, &texts("00"), ("filename", "b.iso"), "x").await;
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!(status, format!("checksum mismatch: got '{sum}' != expect '00'"));
    assert_eq!(log.len(), 3);
    assert_eq!(api.get("/nodes/pve1/storage/local/content?content=iso").await.data().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn wrong_uploads_are_refused() {
    let (_pve, api) = started(Scenario::empty()).await;
    for (content, filename, parameter, text) in [
        ("iso", "up.txt", "filename", "wrong file extension"),
        ("bogus", "up.iso", "content", "invalid format - invalid content type 'bogus'\n"),
        (
            "images",
            "x.qcow2",
            "content",
            "value 'images' does not have a value in the enumeration 'iso, vztmpl, import'",
        ),
    ] {
        let got = send(&api, PATH, &[("content", content)], ("filename", filename), "x").await;
        assert_eq!(got.refusal(), (400, "Parameter verification failed.", &json!({parameter: text})));
    }
    let got = send(&api, PATH, &[("content", "iso")], ("file", "up.iso"), "x").await;
    assert_eq!(got.status, 500);
    assert!(
        got.reason.starts_with("wrong field name 'file' for file upload, expected 'filename' at "),
        "{}",
        got.reason
    );
    let got =
        send(&api, "/nodes/pve1/storage/local-lvm/upload", &[("content", "iso")], ("filename", "a.iso"), "x").await;
    assert_eq!(got.refusal().1, "can't upload to storage type 'lvmthin', not a file based storage!");
    let got = api.post(PATH, json!({"content": "iso", "filename": "1"})).await;
    assert_eq!(got.refusal().1, "missing temporary file name");
}

#[tokio::test]
async fn who_may_not_upload_hears_it_first() {
    let scenario = Scenario::empty().user("ann@pve", "pw", "/storage/local", "PVEDatastoreUser");
    let (pve, _) = started(scenario).await;
    let ann = Api::login(&pve, "ann@pve", "pw").await;
    let got = send(&ann, PATH, &[("content", "bogus")], ("filename", "a.iso"), "x").await;
    let text = "Permission check failed (/storage/local, Datastore.AllocateTemplate)";
    assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (403, text, ""));
}
