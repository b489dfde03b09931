//! Files of nodes: listed, read, written, deleted; and those that are not shown.

use serde_json::json;

use pvemcp::config::Access;

use super::place::Place;
use crate::served::{done, everything, fails};

#[tokio::test]
async fn a_folder_is_listed_whatever_its_names_hold() {
    let Some(place) = Place::start().await else { return };
    place.sh("mkdir /root/f && cd /root/f && echo text >plain && ln -s plain link && mkdir sub && touch 'a b\ttab' \"$(printf 'new\\nline\\033[31m')\"").await;
    let told = place.done("pve_ssh_list_dir", json!({"node": "pve1", "path": "/root/f"})).await;
    let entries = told["entries"].as_array().expect("a list");
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    assert_eq!(names, ["a b tab", "link", "new line", "plain", "sub"]);
    assert_eq!((&entries[1]["type"], &entries[1]["target"]), (&json!("link"), &json!("plain")));
    assert_eq!(
        (&entries[3]["type"], &entries[3]["size"], &entries[4]["type"]),
        (&json!("file"), &json!(5), &json!("directory"))
    );
    let cut = place.done("pve_ssh_list_dir", json!({"node": "pve1", "path": "/root/f", "limit": 2})).await;
    assert_eq!(
        (&cut["total"], &cut["truncated"], cut["entries"].as_array().map(Vec::len)),
        (&json!(5), &json!(true), Some(2))
    );
    place.fails("pve_ssh_list_dir", json!({"node": "pve1", "path": "/nosuch"}), "not_found").await;
    place.fails("pve_ssh_list_dir", json!({"node": "pve1", "path": "/root/f/plain"}), "bad_argument").await;
    place.fails("pve_ssh_list_dir", json!({"node": "pve1", "path": "etc"}), "bad_argument").await;
}

#[tokio::test]
async fn a_file_is_written_whole_read_and_deleted() {
    let Some(place) = Place::start().await else { return };
    let at = |path: &str| json!({"node": "pve1", "path": path});
    let content = "first\nit's $(id) `id` \\ \"quoted\" \u{e9}\n";
    let mut write = at("/root/-odd name");
    write["content"] = content.into();
    let told = place.done("pve_ssh_write_file", write.clone()).await;
    assert_eq!((&told["replaced"], &told["bytes"]), (&json!(false), &json!(content.len())));
    let read = place.done("pve_ssh_read_file", at("/root/-odd name")).await;
    assert_eq!(
        (&read["content"], &read["size"], &read["untrusted"]),
        (&json!(content), &json!(content.len()), &json!(true))
    );
    place.fails("pve_ssh_write_file", write.clone(), "conflict").await;
    place.sh("chmod 0640 '/root/-odd name'; ln -s '/root/-odd name' /root/link").await;
    write["path"] = "/root/link".into();
    write["overwrite"] = true.into();
    write["content"] = "second\n".into();
    assert_eq!(place.done("pve_ssh_write_file", write.clone()).await["replaced"], true);
    let shown = place.sh("cat '/root/-odd name'; stat -c %a '/root/-odd name'; readlink /root/link; ls -A /root").await;
    assert!(shown.starts_with("second\n640\n/root/-odd name\n") && !shown.contains(".pvemcp"), "{shown}");
    write["mode"] = "0600".into();
    place.done("pve_ssh_write_file", write.clone()).await;
    assert_eq!(place.sh("stat -c %a '/root/-odd name'").await, "600\n");
    write["mode"] = "u+s".into();
    place.fails("pve_ssh_write_file", write.clone(), "bad_argument").await;
    write["mode"] = "".into();
    write["path"] = "/nosuch/file".into();
    place.fails("pve_ssh_write_file", write.clone(), "not_found").await;
    write["path"] = "/etc".into();
    place.fails("pve_ssh_write_file", write, "bad_argument").await;
    assert_eq!(place.done("pve_ssh_read_file", at("/root/link")).await["leads_to"], "/root/-odd name");
    assert_eq!(place.done("pve_ssh_delete_file", at("/root/link")).await["deleted"], true);
    place.fails("pve_ssh_delete_file", at("/root/link"), "not_found").await;
    place.fails("pve_ssh_delete_file", at("/etc"), "bad_argument").await;
    place.fails("pve_ssh_delete_file", at("/etc/"), "bad_argument").await;
    let mut dry = at("/root/-odd name");
    dry["dry_run"] = true.into();
    assert_eq!(place.done("pve_ssh_delete_file", dry).await["dry_run"], true);
    assert_eq!(place.done("pve_ssh_delete_file", at("/root/-odd name")).await["deleted"], true);
    place.fails("pve_ssh_read_file", at("/root/-odd name"), "not_found").await;
}

#[tokio::test]
async fn parts_binaries_and_what_is_too_large() {
    let Some(place) = Place::start().await else { return };
    place.sh("cd /root; printf 'one two three' >text; head -c 100 /dev/zero >zeros; mkfifo pipe; head -c 1200000 /dev/zero | tr '\\0' x >big").await;
    let part = json!({"node": "pve1", "path": "/root/text", "offset": 4, "max_bytes": 3});
    let told = place.done("pve_ssh_read_file", part).await;
    assert_eq!((&told["content"], &told["next_offset"], &told["truncated"]), (&json!("two"), &json!(7), &json!(true)));
    let rest = json!({"node": "pve1", "path": "/root/text", "offset": 7, "max_bytes": 100});
    let told = place.done("pve_ssh_read_file", rest).await;
    assert_eq!((&told["content"], &told["next_offset"]), (&json!(" three"), &json!(null)));
    let binary = place.done("pve_ssh_read_file", json!({"node": "pve1", "path": "/root/zeros"})).await;
    assert_eq!((&binary["binary"], &binary["content"]), (&json!(true), &json!(null)));
    place.fails("pve_ssh_read_file", json!({"node": "pve1", "path": "/root/big"}), "ssh_output_too_large").await;
    place.fails("pve_ssh_read_file", json!({"node": "pve1", "path": "/root/pipe"}), "bad_argument").await;
    place.fails("pve_ssh_read_file", json!({"node": "pve1", "path": "/root"}), "bad_argument").await;
}

#[tokio::test]
async fn secrets_are_not_read_by_any_way() {
    let Some(place) = Place::start().await else { return };
    place.sh("cd /root; echo 'root:secret' >/etc/shadow; mkdir -p .ssh; echo secret >.ssh/id_rsa; echo public >.ssh/id_rsa.pub; ln -s /etc/shadow one; ln -s /root/.ssh two; ln -s /proc three").await;
    for path in [
        "/etc/shadow",
        "/etc/../etc//shadow",
        "/root/one",
        "/root/two/id_rsa",
        "/root/three/self/environ",
        "/root/three/self/root/etc/shadow",
        "/proc/self/environ",
        "/etc/pve/priv/authorized_keys",
    ] {
        let fault = place.fails("pve_ssh_read_file", json!({"node": "pve1", "path": path}), "forbidden").await;
        assert!(!fault.to_string().contains("root:secret"), "{fault}");
    }
    let public = place.done("pve_ssh_read_file", json!({"node": "pve1", "path": "/root/two/id_rsa.pub"})).await;
    assert_eq!(public["content"], "public\n");
    let read = place.done("pve_ssh_read_file", json!({"node": "pve1", "path": "/root/three/meminfo"})).await;
    assert!(read["content"].as_str().unwrap().contains("MemTotal"), "{read}");
}

#[tokio::test]
async fn files_come_from_and_go_to_one_local_folder() {
    let Some(place) = Place::start().await else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let local = |name: &str| dir.path().join(name);
    std::fs::write(local("disk"), vec![b'x'; 3_000_000]).expect("written");
    place.fails("pve_ssh_upload", json!({"node": "pve1", "file": "disk", "path": "/root/disk"}), "local_dir").await;
    let access = Access { local_dir: Some(dir.path().into()), ..everything() };
    let server = place.server(access.clone());
    let up = |more: serde_json::Value| {
        let mut arguments = json!({"node": "pve1", "file": "disk", "path": "/root/disk"});
        arguments.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        arguments
    };
    let dry = done(&server, "pve_ssh_upload", up(json!({"dry_run": true}))).await;
    assert_eq!((&dry["dry_run"], &dry["request"]["upload"]["to"]), (&json!(true), &json!("/root/disk")));
    let sent = done(&server, "pve_ssh_upload", up(json!({"mode": "0600"}))).await;
    let sum = place.sh("sha256sum /root/disk; stat -c %a /root/disk").await;
    assert_eq!(sum, format!("{}  /root/disk\n600\n", sent["sha256"].as_str().expect("a sum")));
    fails(&server, "pve_ssh_upload", up(json!({})), "conflict").await;
    done(&server, "pve_ssh_upload", up(json!({"overwrite": true}))).await;
    fails(&server, "pve_ssh_upload", up(json!({"file": "../etc/passwd"})), "local_dir").await;
    fails(&server, "pve_ssh_upload", up(json!({"path": "disk"})), "bad_argument").await;
    fails(&server, "pve_ssh_upload", up(json!({"mode": "9"})), "bad_argument").await;
    let down = |save: &str| json!({"node": "pve1", "path": "/root/disk", "save_as": save});
    let mut dry = down("back");
    dry["dry_run"] = true.into();
    assert_eq!(done(&server, "pve_ssh_download", dry).await["dry_run"], true);
    assert!(!local("back").exists());
    let got = done(&server, "pve_ssh_download", down("back")).await;
    assert_eq!((&got["bytes"], &got["sha256"]), (&json!(3_000_000), &sent["sha256"]));
    assert_eq!(std::fs::read(local("back")).expect("saved").len(), 3_000_000);
    fails(&server, "pve_ssh_download", down("back"), "local_dir").await;
    fails(&server, "pve_ssh_download", down("/tmp/x"), "local_dir").await;
    let mut large = down("large");
    large["max_bytes"] = 1000.into();
    fails(&server, "pve_ssh_download", large, "too_large").await;
    let none = json!({"node": "pve1", "path": "/root/none", "save_as": "none"});
    fails(&server, "pve_ssh_download", none, "not_found").await;
    assert!(!local("large").exists() && !local("none").exists());
    let closed = place.server(Access { writes: false, ..access });
    fails(&closed, "pve_ssh_download", down("closed"), "gate_closed").await;
}
