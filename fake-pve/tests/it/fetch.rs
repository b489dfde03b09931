//! What nodes find and fetch: scans, files from URLs and registries, templates, machines to import, files in backups.

use fake_pve::world::Volume;
use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::volumes::ended;

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn servers_and_the_node_are_scanned() {
    let (_pve, api) = started(Scenario::empty()).await;
    for (query, expected) in [
        ("nfs?server=192.0.2.60", json!([{"path": "/export/pve", "options": "192.0.2.0/24"}])),
        ("cifs?server=nas.example.com", json!([{"share": "pve", "description": "storage of the cluster"}])),
        ("cifs?server=198.51.100.1", json!([])),
        (
            "pbs?server=192.0.2.60&username=a@pbs&password=x",
            json!([{"store": "store1", "comment": "backups of the cluster"}]),
        ),
        ("lvm", json!([{"vg": "pve"}])),
        ("lvmthin?vg=pve", json!([{"lv": "data"}])),
        ("zfs", json!([])),
    ] {
        assert_eq!(api.get(&format!("/nodes/pve1/scan/{query}")).await.data(), &expected, "{query}");
    }
    let got = api.get("/nodes/pve1/scan/iscsi?portal=192.0.2.60").await;
    assert_eq!(got.data()[0]["target"], "iqn.2003-01.com.example.nas:pve");
    let got = api.get("/nodes/pve1/scan/nfs?server=no.example.com").await;
    assert_eq!(got.refusal().1, "unable to resolve address for server 'no.example.com'");
}

#[tokio::test]
async fn a_file_is_fetched_once() {
    let (_pve, api) = started(Scenario::empty()).await;
    let url = "https://example.com/images/a.iso";
    let known = api.get(&format!("/nodes/pve1/query-url-metadata?url={url}")).await;
    assert_eq!(
        (&known.data()["filename"], &known.data()["mimetype"]),
        (&json!("a.iso"), &json!("application/x-iso9660-image"))
    );
    let path = "/nodes/pve1/storage/local/download-url";
    // The text of the URL is what the file holds.
    let sum = "a0b8e5da57784e9ea5cc7ddd46bb225701bba4f32d521f8b47c01ab21d5d8187";
    let wrong = "ab".repeat(32);
    let refused =
        json!({"url": url, "filename": "a.iso", "content": "iso", "checksum": wrong, "checksum-algorithm": "sha256"});
    let (status, _) = ended(&api, api.post(path, refused).await.data()).await;
    assert_eq!(status, format!("checksum mismatch: got '{sum}' != expect '{wrong}'"));
    assert_eq!(api.get("/nodes/pve1/storage/local/content?content=iso").await.data(), &json!([]));
    let form =
        json!({"url": url, "filename": "a.iso", "content": "iso", "checksum": sum, "checksum-algorithm": "sha256"});
    let got = api.post(path, form.clone()).await;
    assert!(got.data().as_str().is_some_and(|upid| upid.contains(":download:a.iso:")), "{}", got.body);
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!(
        (status.as_str(), log[0].as_str()),
        ("OK", format!("downloading {url} to /var/lib/vz/template/iso/a.iso").as_str())
    );
    assert!(log.contains(&"calculating checksum...OK, checksum verified".to_string()));
    assert_eq!(log[log.len() - 2], format!("download of '{url}' to '/var/lib/vz/template/iso/a.iso' finished"));
    let list = api.get("/nodes/pve1/storage/local/content?content=iso").await;
    assert_eq!(list.data()[0]["size"], known.data()["size"]);
    let (_, log) = ended(&api, api.post(path, form.clone()).await.data()).await;
    assert_eq!(log[1], "calculating checksum of existing file...OK, got correct file already, no need to download");
    let mut other = form.clone();
    other["checksum"] = json!("cd".repeat(32));
    let (status, _) = ended(&api, api.post(path, other).await.data()).await;
    assert_eq!(status, format!("checksum mismatch: got '{sum}' != expect '{}', aborting", "cd".repeat(32)));
    let plain = json!({"url": url, "filename": "a.iso", "content": "iso"});
    let (status, _) = ended(&api, api.post(path, plain).await.data()).await;
    assert_eq!(status, "refusing to override existing file '/var/lib/vz/template/iso/a.iso'");
}

#[tokio::test]
async fn what_is_not_there_cannot_be_fetched() {
    let (_pve, api) = started(Scenario::empty()).await;
    let path = "/nodes/pve1/storage/local/download-url";
    let form = |url: &str, filename: &str, content: &str| json!({"url": url, "filename": filename, "content": content});
    let (status, log) =
        ended(&api, api.post(path, form("http://example.com/404.iso", "b.iso", "iso")).await.data()).await;
    assert!(
        status.starts_with("download failed: command 'wget ") && status.ends_with("failed: exit code 8"),
        "{status}"
    );
    assert!(log.iter().any(|line| line.ends_with("ERROR 404: Not Found.")));
    let got = api.get("/nodes/pve1/query-url-metadata?url=https://a.invalid/x.iso").await;
    assert_eq!(
        got.refusal().1,
        "invalid server response: '500 Can't connect to a.invalid (Name or service not known)'"
    );
    let got = api.post(path, form("http://example.com/b", "b.txt", "iso")).await;
    assert_eq!(got.refusal().2, &json!({"filename": "wrong file extension"}));
    let got =
        api.post("/nodes/pve1/storage/local-lvm/download-url", form("http://example.com/b", "b.iso", "iso")).await;
    assert_eq!(got.refusal().1, "can't upload to storage type 'lvmthin', not a file based storage!");
}

#[tokio::test]
async fn templates_come_from_proxmox_and_from_registries() {
    let (_pve, api) = started(Scenario::empty()).await;
    let offered = api.get("/nodes/pve1/aplinfo").await;
    let debian =
        offered.data().as_array().expect("a list").iter().find(|item| item["os"] == "debian-13").expect("Debian");
    let form = json!({"storage": "local", "template": debian["template"]});
    let (status, _) = ended(&api, api.post("/nodes/pve1/aplinfo", form).await.data()).await;
    assert_eq!(status, "OK");
    let got = api.post("/nodes/pve1/aplinfo", json!({"storage": "local", "template": "x"})).await;
    assert_eq!(got.refusal().2, &json!({"template": "no such template"}));
    let tags = api.get("/nodes/pve1/query-oci-repo-tags?reference=alpine").await;
    assert!(tags.data().as_array().is_some_and(|tags| tags.contains(&json!("latest"))));
    let got = api.post("/nodes/pve1/storage/local/oci-registry-pull", json!({"reference": "alpine:latest"})).await;
    assert!(
        got.data().as_str().is_some_and(|upid| upid.contains(":ociregistrypull:alpine_latest.tar:")),
        "{}",
        got.body
    );
    assert_eq!(ended(&api, got.data()).await.0, "OK");
    let list = api.get("/nodes/pve1/storage/local/content?content=vztmpl").await;
    let volids: Vec<&Value> = list.data().as_array().expect("a list").iter().map(|item| &item["volid"]).collect();
    assert_eq!(volids, ["local:vztmpl/alpine_latest.tar", "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"]);
}

#[tokio::test]
async fn machines_are_described_for_their_import() {
    let (_pve, api) = started(Scenario::empty().file("local:import/web.ova", "import", "ova", 1 << 30)).await;
    let path = "/nodes/pve1/storage/local/import-metadata";
    let got = api.get(&format!("{path}?volume=import/web.ova")).await;
    assert_eq!((&got.data()["type"], &got.data()["create-args"]["name"]), (&json!("vm"), &json!("web")));
    assert_eq!(got.data()["disks"]["scsi0"], "local:import/web.ova/web-disk1.vmdk");
    let got = api.get(&format!("{path}?volume=local:iso/x.iso")).await;
    assert_eq!(got.refusal().1, "unable to parse directory volume name 'local:iso/x.iso'");
    assert_eq!(api.get(&format!("{path}?volume=")).await.refusal().1, "unable to parse volume ID 'local:'");
}

#[tokio::test]
async fn backups_on_a_backup_server_can_be_looked_into() {
    let pbs =
        json!({"type": "pbs", "server": "192.0.2.60", "datastore": "store1", "content": "backup", "username": "a@pbs"});
    let mut scenario = Scenario::empty().storage("pbs1", pbs, 1 << 40);
    let volid = "pbs1:backup/vm/100/2024-01-01T00:00:00Z";
    let (content, format) = ("backup".to_string(), "pbs-vm".to_string());
    scenario
        .world
        .put_volume("pve1", Volume { volid: volid.into(), content, format, vmid: Some(100), ..Volume::default() });
    let (_pve, api) = started(scenario).await;
    let path = "/nodes/pve1/storage/pbs1/file-restore";
    let root = api.get(&format!("{path}/list?volume={volid}&filepath=/")).await;
    assert_eq!((&root.data()[0]["text"], &root.data()[0]["leaf"]), (&json!("drive-scsi0.img.fidx"), &json!(0)));
    let inside = root.data()[0]["filepath"].as_str().expect("a path").replace('=', "%3D");
    let top = api.get(&format!("{path}/list?volume={volid}&filepath={inside}")).await;
    let names: Vec<&Value> = top.data().as_array().expect("a list").iter().map(|item| &item["text"]).collect();
    assert_eq!(names, ["etc", "home", "root", "var"]);
    let folder = top.data()[0]["filepath"].as_str().expect("a path").replace('=', "%3D");
    let got = api.get(&format!("{path}/download?volume={volid}&filepath={folder}")).await;
    assert_eq!((got.status, got.body.starts_with("PK")), (200, true));
    let other = "/nodes/pve1/storage/local/file-restore/list?filepath=/&volume=vzdump-qemu-1-2024_01_01-00_00_00.vma";
    let text = "Only PBS storages supported for file-restore.";
    assert_eq!(api.get(other).await.refusal().2, &json!({"storage": text}));
    assert!(api.get("/nodes/pve1/storage/pbs1/identity").await.data()["id"].is_string());
}
