//! Configuration files read and written: as Proxmox's own code did it, and as a world that starts.

use std::path::Path;

use fake_pve::import_etc::{Files, import_files};
use fake_pve::world::{GuestKind, World, conf};
use fake_pve::{Direct, FakePve, Scenario};
use serde_json::{Map, Value};

/// Texts that Proxmox's own readers read and its writers wrote again, with what they said of them.
fn vectors(kind: &str) -> Vec<Value> {
    let lines = include_str!("../data/replay/parser-vectors.jsonl").lines();
    let vectors = lines.map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    vectors.filter(|vector| vector["kind"] == kind).collect()
}

fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
    vector[key].as_str().unwrap_or_default()
}

fn warnings(vector: &Value) -> Vec<String> {
    let list = vector["warnings"].as_array().into_iter().flatten();
    list.filter_map(|warning| warning.as_str().map(str::to_string)).collect()
}

#[test]
fn guest_configurations_come_back_as_proxmox_writes_them() {
    for (kind, vmid, guest) in [("qemu-config", 100, GuestKind::Vm), ("lxc-config", 200, GuestKind::Lxc)] {
        let vectors = vectors(kind);
        assert!(vectors.len() > 15);
        for vector in vectors {
            let input = text(&vector, "input");
            // Bytes that Perl took for single characters: the text is UTF-8 read as Latin-1.
            let latin: Vec<u8> = input.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
            let input = String::from_utf8_lossy(&latin).into_owned();
            let (read, told) = conf::read(guest, vmid, "pve1", &input);
            assert_eq!(conf::write(&read), text(&vector, "rewritten"), "{input:?}");
            assert_eq!(told, warnings(&vector), "{input:?}");
        }
    }
}

#[test]
fn storages_come_back_as_proxmox_writes_them() {
    for vector in vectors("storage-config") {
        let files = Files::from([("storage.cfg".to_string(), text(&vector, "input").to_string())]);
        let imported = import_files(&files);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
            for line in &mut lines {
                if let Some(list) = line.strip_prefix("\tcontent ") {
                    let mut parts: Vec<&str> = list.split(',').collect();
                    parts.sort_unstable();
                    *line = format!("\tcontent {}", parts.join(","));
                }
            }
            lines.join("\n")
        };
        let written = imported.scenario.world.file("storage.cfg").expect("a storage");
        assert_eq!(sorted(&written), sorted(text(&vector, "rewritten")), "{}", vector["input"]);
        let told: Vec<String> = imported
            .warnings
            .iter()
            .map(|text| text.replacen("storage.cfg: ", "file storage.cfg ", 1) + "\n")
            .collect();
        // Of a section that it skips, Proxmox tells nothing more.
        let told: Vec<String> = told.into_iter().filter(|text| !text.contains("ignore config line")).collect();
        assert_eq!(told, warnings(&vector), "{}", vector["input"]);
    }
}

/// The seed of the recording, committed.
fn seed() -> (Files, Files) {
    let seed: Value = serde_json::from_str(include_str!("../data/replay/seed.json")).expect("the seed");
    let files = |key: &str| serde_json::from_value::<Files>(seed[key].clone()).expect("texts by name");
    let mut more = files("files");
    more.extend(files("more"));
    (files("files"), more)
}

#[test]
fn files_of_the_seed_are_the_files_of_its_world() {
    let (_, files) = seed();
    let imported = import_files(&files);
    assert!(imported.warnings.is_empty(), "{:#?}", imported.warnings);
    let world = imported.scenario.world;
    // Written by hand in another order than Proxmox's or without what is built in, or with secrets that a world does not keep.
    let other = [
        "storage.cfg",
        "user.cfg",
        "corosync.conf",
        "notifications.cfg",
        "priv/token.cfg",
        "/etc/network/interfaces",
        "nodes/pve1/qemu-server/101.conf",
    ];
    for (name, text) in files.iter().filter(|(name, _)| !other.contains(&name.as_str())) {
        let written = world.file(name);
        let lines = |text: &str| {
            let mut lines: Vec<String> = text.trim().lines().map(str::to_string).collect();
            if !name.ends_with(".conf") {
                lines.sort_unstable();
            }
            lines
        };
        assert_eq!(written.as_deref().map(lines), Some(lines(text)), "{name}");
    }
    assert_eq!(world.cluster.as_deref(), Some("testcluster"));
    assert_eq!(world.entry, "pve1");
    assert_eq!(world.guests[&101].pending["memory"], "1024");
    assert_eq!(world.guests[&101].snapshots["snap1"].snaptime, 1_700_000_500);
    assert!(world.access.passwords["alice@pve"].is("password") && !world.access.passwords["alice@pve"].is("other"));
    let again: World = serde_json::from_str(&Scenario { world: world.clone() }.to_json()).expect("a world");
    assert_eq!(again, world);
}

#[test]
fn what_is_not_known_is_told_and_left_out() {
    let files = Files::from(
        [
            ("strange.cfg", "x"),
            ("storage.cfg", "\tpath /x\ndir: ok\n\tpath /ok\n"),
            ("nodes/pve7/qemu-server/100.conf", "memory: 512\nnonsense\n"),
            ("nodes/pve7/pve-ssl.pem", "-"),
            ("firewall/cluster.fw", "[OPTIONS]\nenable: 1\n[WHAT]\n"),
        ]
        .map(|(name, text)| (name.to_string(), text.to_string())),
    );
    let imported = import_files(&files);
    let told = imported.warnings.join("\n");
    for file in ["strange.cfg: ", "storage.cfg: ", "nodes/pve7/qemu-server/100.conf: ", "firewall/cluster.fw: "] {
        assert!(told.contains(file), "{told}");
    }
    assert_eq!(imported.warnings.len(), 4, "{told}");
    let cluster = Direct::new(imported.scenario.world);
    let told = cluster.call(Some("root@pam"), "GET", "/nodes/pve7/status", Map::new());
    assert_eq!(told.status, 200);
}

#[tokio::test]
async fn a_folder_becomes_a_cluster_that_starts() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import-etc/pve");
    for (name, text) in seed().0 {
        let file = match name.strip_prefix("/etc/") {
            Some(outside) => folder.join("..").join(outside),
            None => folder.join(name),
        };
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
    let imported = fake_pve::import_etc(&folder).expect("a readable folder");
    assert!(imported.warnings.is_empty(), "{:#?}", imported.warnings);
    let node = &imported.scenario.world.nodes["pve1"];
    assert_eq!(node.network["vmbr0"]["cidr"], "192.0.2.11/24");
    let pve = FakePve::builder().scenario(imported.scenario).start().await.expect("a cluster");
    assert_eq!(pve.world(|world| world.guests.len()), 7);
    assert!(fake_pve::import_etc(&folder.join("nothing")).is_err());
}
