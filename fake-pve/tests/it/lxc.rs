//! Containers: made, changed, copied, moved, destroyed.

use fake_pve::Scenario;
use fake_pve::world::Volume;
use serde_json::{Value, json};

use crate::client::Api;
use crate::qemu::{ended, started};

const CTS: &str = "/nodes/pve1/lxc";
const TEMPLATE: &str = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";

fn with_template(scenario: Scenario) -> Scenario {
    let files = json!({"type": "dir", "path": "/srv/files", "content": "images,rootdir,backup"});
    let tank = json!({"type": "zfspool", "pool": "tank", "content": "images,rootdir"});
    scenario.storage("files", files, 1 << 40).storage("tank", tank, 1 << 40).file(TEMPLATE, "vztmpl", "tzst", 120 << 20)
}

#[tokio::test]
async fn a_new_container_has_what_proxmox_adds() {
    let (pve, api) = started(with_template(Scenario::empty())).await;
    let form = json!({
        "vmid": 200, "ostemplate": TEMPLATE, "rootfs": "local-lvm:8", "mp0": "tank:2,mp=/srv,backup=1",
        "net0": "name=eth0,bridge=vmbr0,ip=dhcp", "password": "secret-word", "features": "nesting=1",
    });
    let (status, log) = ended(&api, &api.post(CTS, form).await).await;
    assert_eq!(status, "OK", "{log:#?}");
    assert!(
        log.iter().any(|line| line.starts_with("extracting archive '/var/lib/vz/template/cache/debian-12")),
        "{log:#?}"
    );
    let config = api.get(&format!("{CTS}/200/config")).await.data().clone();
    for (key, value) in [
        ("arch", json!("amd64")),
        ("ostype", json!("debian")),
        ("hostname", json!("CT200")),
        ("memory", json!(512)),
        ("swap", json!(512)),
        ("unprivileged", json!(1)),
        ("rootfs", json!("local-lvm:vm-200-disk-0,size=8G")),
        ("mp0", json!("tank:subvol-200-disk-0,mp=/srv,backup=1,size=2G")),
    ] {
        assert_eq!(config[key], value, "{key}");
    }
    let net = config["net0"].as_str().expect("a network device");
    assert!(net.starts_with("name=eth0,bridge=vmbr0,hwaddr=BC:24:11:") && net.ends_with(",ip=dhcp,type=veth"), "{net}");
    assert!(config.get("cores").is_none() && config.get("password").is_none());
    let list = api.get(CTS).await;
    assert_eq!((&list.data()[0]["type"], &list.data()[0]["maxdisk"]), (&json!("lxc"), &json!(8u64 << 30)));
    assert!(pve.world(|world| world.volume("pve1", "local-lvm:vm-200-disk-0").is_some_and(|v| v.content == "rootdir")));
}

#[tokio::test]
async fn creation_is_refused_early_or_fails_late() {
    let (pve, api) = started(with_template(Scenario::one_vm())).await;
    let text = |form: Value| {
        let api = &api;
        async move { api.post(CTS, form).await.refusal().1.to_string() }
    };
    assert_eq!(text(json!({"vmid": 100, "ostemplate": TEMPLATE})).await, "VM 100 already exists on node 'pve1'");
    let no_root = api.post(CTS, json!({"vmid": 200, "ostemplate": TEMPLATE})).await;
    assert_eq!(no_root.refusal().2["storage"], "storage 'local' does not support container directories");
    let iso = text(json!({"vmid": 200, "ostemplate": "local:iso/x.iso", "rootfs": "files:4"})).await;
    assert_eq!(iso, "unable to use volume local:iso/x.iso - content type needs to be 'vztmpl'");
    assert_eq!(
        text(json!({"vmid": 200, "ostemplate": TEMPLATE, "rootfs": "no1:4"})).await,
        "storage 'no1' does not exist"
    );
    let late = api.post(CTS, json!({"vmid": 200, "ostemplate": "local:vztmpl/no.tar.gz", "rootfs": "files:4"})).await;
    assert_eq!(ended(&api, &late).await.0, "unable to create CT 200 - volume 'local:vztmpl/no.tar.gz' does not exist");
    assert!(pve.world(|world| !world.guests.contains_key(&200) && world.volumes_of("pve1", "files").count() == 0));
}

#[tokio::test]
async fn options_are_changed_and_judged() {
    let scenario = with_template(Scenario::one_ct()).user("admin@pve", "secret-1", "/", "Administrator");
    let (pve, api) = started(scenario).await;
    let config = format!("{CTS}/200/config");
    api.put(&config, json!({"cores": 2, "description": "a\nb", "mp0": "files:1,mp=/x", "env": "A=B"})).await.data();
    let now = api.get(&config).await.data().clone();
    assert_eq!((&now["description"], &now["env"]), (&json!("a\nb\n"), &json!("A=B")));
    assert_eq!(now["mp0"], "files:200/vm-200-disk-0.raw,mp=/x,size=1G");
    api.put(&config, json!({"delete": "mp0"})).await.data();
    assert_eq!(api.get(&config).await.data()["unused0"], "files:200/vm-200-disk-0.raw");
    api.put(&config, json!({"delete": "unused0"})).await.data();
    assert_eq!(pve.world(|world| world.volumes_of("pve1", "files").count()), 0);
    for (form, text) in [
        (json!({"delete": "rootfs"}), "unable to delete required option 'rootfs'"),
        (json!({"unprivileged": 0}), "unable to modify read-only option: 'unprivileged'"),
        (
            json!({"cores": 1, "digest": "00"}),
            "detected modified configuration - file changed by other user? Try again.",
        ),
        (json!({"net1": "name=eth1,bridge=no1"}), "bridge 'no1' does not exist"),
    ] {
        assert_eq!(api.put(&config, form).await.refusal().1, text);
    }
    api.put(&config, json!({"delete": "net1"})).await.data();
    let admin = Api::login(&pve, "admin@pve", "secret-1").await;
    for (form, text) in [
        (json!({"features": "keyctl=1"}), "changing feature flags (except nesting) is only allowed for root@pam"),
        (json!({"mp5": "/srv,mp=/x"}), "mount point type bind is only allowed for root@pam"),
        (json!({"dev0": "/dev/sda"}), "configuring device passthrough is only allowed for root@pam"),
    ] {
        assert_eq!(admin.put(&config, form).await.refusal().1, format!("Permission check failed ({text})"));
    }
    admin.put(&config, json!({"features": "nesting=1"})).await.data();
}

#[tokio::test]
async fn what_runs_changes_at_once_or_waits() {
    let (_pve, api) = started(with_template(Scenario::one_ct()).running(200)).await;
    let config = format!("{CTS}/200/config");
    let form = json!({"memory": 1024, "hostname": "new", "nameserver": "192.0.2.53", "mp0": "tank:1,mp=/x"});
    api.put(&config, form).await.data();
    let current = api.get(&format!("{config}?current=1")).await.data().clone();
    assert_eq!((&current["memory"], &current["hostname"]), (&json!(1024), &json!("new")));
    assert_eq!(current["mp0"], "tank:subvol-200-disk-0,mp=/x,size=1G");
    assert!(current.get("nameserver").is_none());
    let pending = api.get(&format!("{CTS}/200/pending")).await.data().clone();
    assert!(pending.as_array().expect("a list").contains(&json!({"key": "nameserver", "pending": "192.0.2.53"})));
}

#[tokio::test]
async fn containers_are_cloned_and_become_templates() {
    let (pve, api) = started(with_template(Scenario::one_ct())).await;
    let clone = format!("{CTS}/200/clone");
    let got = api.post(&clone, json!({"newid": 201, "hostname": "copy", "storage": "tank"})).await;
    let (status, log) = ended(&api, &got).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "creating a clone of container 200 with ID 201"));
    let config = api.get(&format!("{CTS}/201/config")).await.data().clone();
    assert_eq!((&config["hostname"], &config["rootfs"]), (&json!("copy"), &json!("tank:subvol-201-disk-0,size=4G")));
    assert!(pve.world(|world| world.guests[&200].lock().is_none()));
    assert_eq!(api.post(&clone, json!({"newid": 201})).await.refusal().1, "CT 201 already exists on node 'pve1'");
    let linked = api.post(&clone, json!({"newid": 202, "full": 0})).await;
    assert_eq!(linked.refusal().1, "Linked clone feature for 'local-lvm:vm-200-disk-0' is not available");
    assert_eq!(api.post(&format!("{CTS}/201/template"), json!({})).await.data(), &Value::Null);
    let config = api.get(&format!("{CTS}/201/config")).await.data().clone();
    assert_eq!((&config["template"], &config["rootfs"]), (&json!(1), &json!("tank:basevol-201-disk-0,size=4G")));
    let got = api.post(&format!("{CTS}/201/clone"), json!({"newid": 202})).await;
    assert_eq!(ended(&api, &got).await.0, "OK");
    let rootfs = api.get(&format!("{CTS}/202/config")).await.data()["rootfs"].clone();
    assert_eq!(rootfs, "tank:basevol-201-disk-0/subvol-202-disk-0,size=4G");
    let (status, _) = ended(&api, &api.delete(&format!("{CTS}/201")).await).await;
    assert_eq!(status, "base volume 'basevol-201-disk-0' is still in use by linked clones");
    let got = api.post(&clone, json!({"newid": 203, "target": "nope"})).await;
    assert_eq!(got.refusal().1, "no such cluster node 'nope'");
}

#[tokio::test]
async fn volumes_grow_move_and_change_hands() {
    let scenario = with_template(Scenario::one_ct()).ct(201, "pve1", json!({}));
    let (_pve, api) = started(scenario).await;
    let at = |tail: &str| format!("{CTS}/200/{tail}");
    let (status, _) = ended(&api, &api.put(&at("resize"), json!({"disk": "rootfs", "size": "+4G"})).await).await;
    assert_eq!(status, "OK");
    assert_eq!(api.get(&at("config")).await.data()["rootfs"], "local-lvm:vm-200-disk-0,size=8G");
    for (size, text) in [("8G", "disk is already at specified size"), ("1G", "unable to shrink disk size")] {
        assert_eq!(api.put(&at("resize"), json!({"disk": "rootfs", "size": size})).await.refusal().1, text);
    }
    let got = api.post(&at("move_volume"), json!({"volume": "rootfs", "storage": "files", "delete": 1})).await;
    assert_eq!(ended(&api, &got).await.0, "OK");
    assert_eq!(api.get(&at("config")).await.data()["rootfs"], "files:200/vm-200-disk-0.raw,size=8G");
    api.put(&at("config"), json!({"mp0": "tank:1,mp=/x"})).await.data();
    let got = api.post(&at("move_volume"), json!({"volume": "mp0", "target-vmid": 201, "target-volume": "mp3"})).await;
    assert_eq!(ended(&api, &got).await.0, "OK");
    let config = api.get(&format!("{CTS}/201/config")).await.data().clone();
    assert_eq!(config["mp3"], "tank:subvol-201-disk-0,mp=/x,size=1G");
    let root = api.post(&at("move_volume"), json!({"volume": "rootfs", "target-vmid": 201})).await;
    assert_eq!(root.refusal().1, "Cannot move to/from 'rootfs'");
}

#[tokio::test]
async fn destroying_and_restoring() {
    let (pve, api) = started(with_template(Scenario::one_ct()).running(200)).await;
    let archive = "files:backup/vzdump-lxc-200-2026_01_02-03_04_05.tar.zst";
    pve.world(|world| {
        let payload = serde_json::to_value(&world.guests[&200]).ok();
        let (content, format) = ("backup".to_string(), "tar.zst".to_string());
        let volume = Volume { volid: archive.into(), content, format, size: 1 << 28, payload, ..Volume::default() };
        world.put_volume("pve1", volume);
    });
    let path = format!("{CTS}/200");
    assert_eq!(api.delete(&path).await.refusal().1, "unable to destroy CT 200 - container is running");
    let (status, log) = ended(&api, &api.delete(&format!("{path}?force=1&purge=1")).await).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "forced to stop CT 200 before destroying!"));
    assert!(pve.world(|world| world.volumes_of("pve1", "local-lvm").count() == 0));
    let form = json!({"vmid": 205, "ostemplate": archive, "restore": 1, "storage": "tank", "memory": 1024});
    let (status, log) = ended(&api, &api.post(CTS, form).await).await;
    assert_eq!(
        (status.as_str(), log[0].as_str()),
        ("OK", format!("recovering backed-up configuration from '{archive}'").as_str())
    );
    let config = api.get(&format!("{CTS}/205/config")).await.data().clone();
    assert_eq!((&config["rootfs"], &config["memory"]), (&json!("tank:subvol-205-disk-0,size=4G"), &json!(1024)));
    assert_eq!((&config["hostname"], &config["unprivileged"]), (&json!("one"), &json!(1)));
}
