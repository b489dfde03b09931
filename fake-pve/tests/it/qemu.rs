//! Virtual machines: made, changed, copied, moved, destroyed.

use std::time::Duration;

use fake_pve::world::{Guest, GuestKind, Volume};
use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::{Api, Got};

pub async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

/// Status and log of the task that an answer names, when it has ended.
#[track_caller]
pub async fn ended(api: &Api, got: &Got) -> (String, Vec<String>) {
    let upid = got.data().as_str().unwrap_or_else(|| panic!("no UPID: {}", got.body)).to_string();
    let node = upid.split(':').nth(1).expect("a node").to_string();
    let status = api.get(&format!("/nodes/{node}/tasks/{upid}/status")).await;
    let log = api.get(&format!("/nodes/{node}/tasks/{upid}/log?limit=0")).await;
    let lines = log.data().as_array().expect("lines").iter();
    let lines = lines.map(|line| line["t"].as_str().unwrap_or_default().to_string()).collect();
    (status.data()["exitstatus"].as_str().unwrap_or_default().to_string(), lines)
}

/// A directory storage beside the thin pool.
fn with_files(scenario: Scenario) -> Scenario {
    let config = json!({"type": "dir", "path": "/srv/files", "content": "images,rootdir,backup,snippets"});
    scenario.storage("files", config, 1 << 40)
}

const VMS: &str = "/nodes/pve1/qemu";

#[tokio::test]
async fn a_new_machine_has_what_proxmox_adds() {
    let (_pve, api) = started(with_files(Scenario::empty())).await;
    let form = json!({
        "vmid": 100, "name": "web", "memory": 2048, "net0": "virtio,bridge=vmbr0", "scsi0": "local-lvm:8,iothread=1",
        "efidisk0": "local-lvm:1,efitype=4m", "scsi10": "files:2.5,format=qcow2", "ide2": "none,media=cdrom",
    });
    let (status, log) = ended(&api, &api.post(VMS, form).await).await;
    assert_eq!(status, "OK", "{log:#?}");
    assert!(log.contains(&"scsi0: successfully created disk 'local-lvm:vm-100-disk-1,iothread=1,size=8G'".into()));
    let config = api.get(&format!("{VMS}/100/config")).await.data().clone();
    assert_eq!(config["efidisk0"], "local-lvm:vm-100-disk-0,efitype=4m,size=4M");
    assert_eq!(config["scsi10"], "files:100/vm-100-disk-0.qcow2,size=2560M");
    assert_eq!(config["boot"], "order=scsi0;ide2;net0");
    assert_eq!(config["memory"], "2048");
    let net = config["net0"].as_str().expect("a network device");
    assert!(net.starts_with("virtio=BC:24:11:") && net.ends_with(",bridge=vmbr0"), "{net}");
    assert!(config["smbios1"].as_str().is_some_and(|smbios| smbios.starts_with("uuid=")));
    assert_eq!(config["vmgenid"].as_str().map(str::len), Some(36));
    assert!(config["meta"].as_str().is_some_and(|meta| meta.starts_with("creation-qemu=")));
    assert!(config.get("cores").is_none() && config.get("lock").is_none());
    let list = api.get(VMS).await;
    let item = &list.data()[0];
    assert_eq!((&item["maxdisk"], &item["maxmem"]), (&json!(8u64 << 30), &json!(2u64 << 30)));
    let again = api.post(VMS, json!({"vmid": 100})).await;
    assert_eq!(again.refusal().1, "unable to create VM 100 - VM 100 already exists on node 'pve1'");
}

#[tokio::test]
async fn a_machine_without_devices_boots_from_a_blank() {
    let (pve, api) = started(Scenario::empty()).await;
    let got = api.post(VMS, json!({"vmid": 100, "ostype": "win11", "start": 1, "pool": "nope"})).await;
    assert_eq!(got.refusal().1, "Permission check failed (pool 'nope' does not exist)");
    let (status, log) = ended(&api, &api.post(VMS, json!({"vmid": 100, "ostype": "win11", "start": 1})).await).await;
    assert_eq!(status, "OK");
    assert!(log[0].starts_with("pinning machine type to 'pc-i440fx-") && log[1] == "Execute autostart", "{log:?}");
    assert_eq!(api.get(&format!("{VMS}/100/config")).await.data()["boot"], " ");
    pve.advance(Duration::from_secs(5));
    assert!(pve.world(|world| world.guests[&100].runs()));
}

#[tokio::test]
async fn a_machine_in_the_making_is_locked_and_goes_when_it_fails() {
    let scenario = Scenario::empty();
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let got = api.post(VMS, json!({"vmid": 100, "scsi0": "local-lvm:1", "ide0": "local:iso/no.iso,media=cdrom"})).await;
    let upid = got.data().as_str().expect("a UPID").to_string();
    assert_eq!(api.get(&format!("{VMS}/100/config")).await.data()["lock"], "create");
    pve.advance(Duration::from_secs(10));
    let status = api.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    let text = "unable to create VM 100 - volume 'local:iso/no.iso' does not exist";
    assert_eq!(status.data()["exitstatus"], text);
    assert!(pve.world(|world| world.guests.is_empty() && world.volumes_of("pve1", "local-lvm").count() == 0));
}

#[tokio::test]
async fn disks_come_and_go() {
    let (pve, api) = started(Scenario::one_vm()).await;
    let config = format!("{VMS}/100/config");
    assert_eq!(api.put(&config, json!({})).await.refusal().1, "no options specified");
    let unknown = api.put(&config, json!({"delete": "bogus"})).await;
    assert_eq!(
        unknown.refusal(),
        (400, "Parameter verification failed.", &json!({"delete": "unknown option 'bogus'"}))
    );
    api.put(&config, json!({"scsi1": "local-lvm:1"})).await.data();
    let now = api.get(&config).await.data().clone();
    assert_eq!((&now["scsi1"], &now["boot"]), (&json!("local-lvm:vm-100-disk-1,size=1G"), &json!("order=scsi0;net0")));
    api.put(&config, json!({"delete": "scsi0", "digest": now["digest"]})).await.data();
    let after = api.get(&config).await.data().clone();
    assert_eq!((&after["unused0"], &after["boot"]), (&json!("local-lvm:vm-100-disk-0"), &json!("order=net0")));
    let stale = api.put(&config, json!({"cores": 2, "digest": now["digest"]})).await;
    assert_eq!(stale.refusal(), (500, "checksum mismatch (file change by other user?)", &Value::Null));
    api.put(&config, json!({"delete": "unused0"})).await.data();
    api.put(&format!("{VMS}/100/unlink"), json!({"idlist": "scsi1", "force": 1})).await.data();
    assert!(api.get(&config).await.data().get("unused0").is_none());
    assert_eq!(pve.world(|world| world.volumes_of("pve1", "local-lvm").count()), 0);
}

#[tokio::test]
async fn what_runs_changes_at_once_or_waits() {
    let (_pve, api) = started(Scenario::one_vm().running(100)).await;
    let config = format!("{VMS}/100/config");
    let form = json!({"cores": 4, "name": "new", "memory": 1024, "scsi1": "local-lvm:1", "ide2": "none,media=cdrom"});
    api.put(&config, form).await.data();
    let current = api.get(&format!("{config}?current=1")).await.data().clone();
    assert_eq!((&current["cores"], &current["name"]), (&json!(1), &json!("new")));
    assert_eq!(current["scsi1"], "local-lvm:vm-100-disk-1,size=1G");
    assert!(current.get("ide2").is_none());
    let merged = api.get(&config).await.data().clone();
    assert_eq!(
        (&merged["cores"], &merged["memory"], &merged["ide2"]),
        (&json!(4), &json!("1024"), &json!("none,media=cdrom"))
    );
    let pending = api.get(&format!("{VMS}/100/pending")).await.data().clone();
    let find = |key: &str| pending.as_array().expect("a list").iter().find(|item| item["key"] == key).cloned();
    assert_eq!(find("cores"), Some(json!({"key": "cores", "value": 1, "pending": 4})));
    api.put(&config, json!({"revert": "cores"})).await.data();
    assert_eq!(api.get(&config).await.data()["cores"], 1);
    let refused = api.put(&config, json!({"delete": "scsi0"})).await;
    assert_eq!(refused.refusal().2["scsi0"], "hotplug problem - can't unplug bootdisk 'scsi0'\n");
    let both = api.get(&format!("{config}?current=1&snapshot=s1")).await;
    assert_eq!(both.refusal().2["current"], "cannot use 'snapshot' parameter with 'current'");
}

#[tokio::test]
async fn each_option_has_its_privilege() {
    let scenario = Scenario::one_vm().user("user@pve", "secret-1", "/vms/100", "PVEVMUser");
    let (pve, _root) = started(scenario).await;
    let api = Api::login(&pve, "user@pve", "secret-1").await;
    let config = format!("{VMS}/100/config");
    for (form, text) in [
        (json!({"cores": 2}), "Permission check failed (/vms/100, VM.Config.CPU)"),
        (json!({"net0": "virtio,bridge=vmbr0"}), "Permission check failed (/vms/100, VM.Config.Network)"),
        (json!({"scsi1": "local-lvm:1"}), "Permission check failed (/storage/local-lvm, Datastore.AllocateSpace)"),
        (json!({"args": "-x"}), "only root can set 'args' config"),
        (json!({"serial0": "/dev/ttyS0"}), "only root can modify 'serial0' config for real devices"),
        (json!({"ide2": "cdrom,media=cdrom"}), "Permission check failed (/, Sys.Console)"),
    ] {
        assert_eq!(api.put(&config, form).await.refusal().1, text);
    }
    api.put(&config, json!({"ide2": "none,media=cdrom", "ciuser": "me"})).await.data();
    let skip = api.put(&config, json!({"ciuser": "x", "skiplock": 1})).await;
    assert_eq!(skip.refusal().2["skiplock"], "Only root may use this option.");
    assert_eq!(api.post(VMS, json!({"vmid": 101})).await.refusal().1, "Permission check failed");
}

#[tokio::test]
async fn cloud_init_has_a_drive_and_keeps_its_secret() {
    let (_pve, api) = started(Scenario::one_vm()).await;
    let key = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIGGe4i3GW9cMBr%2FbN8sG1vc1Ucyvi3eS2oEUZ26tQwCD%20me";
    let form = json!({
        "ide2": "local-lvm:cloudinit", "ciuser": "me", "cipassword": "secret-word", "sshkeys": key,
        "ipconfig0": "ip=192.0.2.7/24,gw=192.0.2.1", "nameserver": "192.0.2.53",
    });
    let config = format!("{VMS}/100/config");
    api.put(&config, form).await.data();
    let now = api.get(&config).await.data().clone();
    assert_eq!(
        (&now["ide2"], &now["cipassword"]),
        (&json!("local-lvm:vm-100-cloudinit,media=cdrom"), &json!("**********"))
    );
    assert_eq!(now["sshkeys"], key);
    let user = api.get(&format!("{VMS}/100/cloudinit/dump?type=user")).await;
    let text = user.data().as_str().expect("a text").to_string();
    assert!(
        text.contains("user: me\n") && text.contains("password: $5$") && text.contains("  - ssh-ed25519 AAAA"),
        "{text}"
    );
    let network = api.get(&format!("{VMS}/100/cloudinit/dump?type=network")).await;
    assert!(network.data().as_str().is_some_and(|text| text.contains("netmask: '255.255.255.0'")));
    api.put(&config, json!({"ciuser": "you"})).await.data();
    let find = |list: &Value| list.as_array().expect("a list").iter().find(|item| item["key"] == "ciuser").cloned();
    let waiting = find(api.get(&format!("{VMS}/100/cloudinit")).await.data());
    assert_eq!(waiting, Some(json!({"key": "ciuser", "value": "me", "pending": "you"})));
    api.put(&format!("{VMS}/100/cloudinit"), json!({})).await.data();
    assert_eq!(
        find(api.get(&format!("{VMS}/100/cloudinit")).await.data()),
        Some(json!({"key": "ciuser", "value": "you"}))
    );
    let second = api.put(&config, json!({"ide3": "local-lvm:cloudinit"})).await;
    assert_eq!(second.refusal().1, "ide3 - cloud-init drive is already attached at 'ide2'");
    let bad = api.put(&config, json!({"sshkeys": "%2Froot%2F.ssh%2Fid_rsa.pub"})).await;
    assert_eq!(bad.refusal().1, "SSH public key validation error");
}

#[tokio::test]
async fn clones_are_full_or_linked() {
    let scenario = with_files(Scenario::empty().node("pve2"));
    let (pve, api) =
        started(scenario.vm(100, "pve1", json!({"name": "web"})).vm(900, "pve1", json!({})).template(900)).await;
    let clone = |vmid: u32| format!("{VMS}/{vmid}/clone");
    let got = api.post(&clone(100), json!({"newid": 101, "storage": "files", "format": "qcow2", "name": "copy"})).await;
    let (status, log) = ended(&api, &got).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "creating a clone of VM 100 with ID 101"));
    let (old, new) = (api.get(&format!("{VMS}/100/config")).await, api.get(&format!("{VMS}/101/config")).await);
    assert_eq!(
        (&new.data()["scsi0"], &new.data()["name"]),
        (&json!("files:101/vm-101-disk-0.qcow2,size=8G"), &json!("copy"))
    );
    assert_ne!(old.data()["net0"], new.data()["net0"]);
    assert_ne!(old.data()["smbios1"], new.data()["smbios1"]);
    let (status, log) = ended(&api, &api.post(&clone(900), json!({"newid": 102})).await).await;
    assert_eq!(
        (status.as_str(), log[1].as_str()),
        ("OK", "create linked clone of drive scsi0 (local-lvm:base-900-disk-0)")
    );
    let linked = api.get(&format!("{VMS}/102/config")).await.data().clone();
    assert_eq!(
        (&linked["scsi0"], &linked["name"]),
        (&json!("local-lvm:vm-102-disk-0,size=8G"), &json!("Copy-of-VM-900"))
    );
    for (vmid, form, text) in [
        (900, json!({"newid": 103, "storage": "files"}), "parameter 'storage' not allowed for linked clones"),
        (
            100,
            json!({"newid": 103, "full": 0}),
            "Linked clone feature is not supported for 'local-lvm:vm-100-disk-0' (scsi0)",
        ),
        (100, json!({"newid": 103, "target": "pve2"}), "can't clone VM to node 'pve2' (VM uses local storage)"),
        (100, json!({"newid": 101}), "unable to create VM 101: config file already exists"),
        (100, json!({"newid": 103, "snapname": "no1"}), "snapshot 'no1' does not exist"),
        (77777, json!({"newid": 103}), "unable to find configuration file for VM 77777 on node 'pve1'"),
    ] {
        assert_eq!(api.post(&clone(vmid), form).await.refusal().1, text);
    }
    assert!(pve.world(|world| !world.guests.contains_key(&103)));
}

#[tokio::test]
async fn disks_move_grow_and_change_hands() {
    let scenario = with_files(Scenario::empty()).vm(100, "pve1", json!({})).vm(101, "pve1", json!({}));
    let (pve, api) = started(scenario).await;
    let at = |tail: &str| format!("{VMS}/100/{tail}");
    let (status, log) = ended(&api, &api.put(&at("resize"), json!({"disk": "scsi0", "size": "+2G"})).await).await;
    assert_eq!(status, "OK", "{log:?}");
    assert_eq!(api.get(&at("config")).await.data()["scsi0"], "local-lvm:vm-100-disk-0,size=10G");
    let (status, _) = ended(&api, &api.put(&at("resize"), json!({"disk": "scsi0", "size": "1G"})).await).await;
    assert_eq!(status, "shrinking disks is not supported");
    let moved = api.post(&at("move_disk"), json!({"disk": "scsi0", "storage": "files", "format": "qcow2"})).await;
    let (status, log) = ended(&api, &moved).await;
    assert_eq!((status.as_str(), log.last().map(String::as_str)), ("OK", Some("TASK OK")));
    assert!(log.contains(&"adding source volume 'local-lvm:vm-100-disk-0' as 'unused0' to config".into()), "{log:#?}");
    let config = api.get(&at("config")).await.data().clone();
    assert_eq!(config["scsi0"], "files:100/vm-100-disk-0.qcow2,size=10G");
    let same = api.post(&at("move_disk"), json!({"disk": "scsi0", "storage": "files"})).await;
    assert_eq!(same.refusal().1, "you can't move to the same storage with same format");
    let neither = api.post(&at("move_disk"), json!({"disk": "scsi0"})).await;
    assert!(neither.refusal().2["storage"].as_str().is_some_and(|text| text.starts_with("both 'storage' and")));
    let form = json!({"disk": "scsi0", "target-vmid": 101, "target-disk": "scsi5"});
    let got = api.post(&at("move_disk"), form).await;
    assert!(got.data().as_str().is_some_and(|upid| upid.contains(":qmmove:100-scsi0>101-scsi5:")));
    let other = api.get(&format!("{VMS}/101/config")).await.data().clone();
    assert_eq!(other["scsi5"], "files:101/vm-101-disk-0.qcow2,size=10G");
    let config = api.get(&at("config")).await.data().clone();
    assert_eq!((&config["boot"], config.get("scsi0")), (&json!("order=net0"), None));
    assert!(
        pve.world(|world| world.volume("pve1", "files:101/vm-101-disk-0.qcow2").is_some_and(|v| v.vmid == Some(101)))
    );
}

#[tokio::test]
async fn templates_carry_their_clones() {
    let scenario = with_files(Scenario::empty()).vm(100, "pve1", json!({}));
    let (pve, api) = started(scenario).await;
    api.post(&format!("{VMS}/100/move_disk"), json!({"disk": "scsi0", "storage": "files", "delete": 1})).await;
    pve.advance(Duration::from_secs(60));
    let (status, _) = ended(&api, &api.post(&format!("{VMS}/100/template"), json!({})).await).await;
    assert_eq!(status, "OK");
    let config = api.get(&format!("{VMS}/100/config")).await.data().clone();
    assert_eq!((&config["scsi0"], &config["template"]), (&json!("files:100/base-100-disk-0.raw,size=8G"), &json!(1)));
    let again = api.post(&format!("{VMS}/100/template"), json!({})).await;
    assert_eq!(again.refusal().1, "you can't convert a template to a template");
    ended(&api, &api.post(&format!("{VMS}/100/clone"), json!({"newid": 101})).await).await;
    let linked = api.get(&format!("{VMS}/101/config")).await.data()["scsi0"].clone();
    assert_eq!(linked, "files:100/base-100-disk-0.raw/101/vm-101-disk-0.qcow2,size=8G");
    let (status, _) = ended(&api, &api.delete(&format!("{VMS}/100")).await).await;
    assert_eq!(status, "base volume 'files:100/base-100-disk-0.raw' is still in use by linked cloned");
    let feature = api.get(&format!("{VMS}/100/feature?feature=clone")).await;
    assert_eq!(feature.data(), &json!({"hasFeature": 1, "nodes": ["pve1"]}));
    for vmid in [101, 100] {
        let (status, _) = ended(&api, &api.delete(&format!("{VMS}/{vmid}?purge=1")).await).await;
        assert_eq!(status, "OK");
    }
    assert!(pve.world(|world| world.guests.is_empty() && world.volumes_of("pve1", "files").count() == 0));
}

#[tokio::test]
async fn destroying_is_refused_for_good_reasons() {
    let (pve, api) = started(Scenario::one_vm()).await;
    let path = format!("{VMS}/100");
    let refusal = |got: Got| got.refusal().1.to_string();
    pve.world(|world| world.add_to_ha(100, "started"));
    let text = "unable to remove VM 100 - used in HA resources and purge parameter not set.";
    assert_eq!(refusal(api.delete(&path).await), text);
    api.put(&format!("{path}/config"), json!({"protection": 1})).await.data();
    assert_eq!(refusal(api.delete(&path).await), "can't remove VM 100 - protection mode enabled");
    api.put(&format!("{path}/config"), json!({"delete": "protection"})).await.data();
    pve.world(|world| world.guests.get_mut(&100).expect("a guest").power_on(0, 7));
    assert_eq!(refusal(api.delete(&format!("{path}?purge=1")).await), "VM 100 is running - destroy failed");
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("a guest");
        guest.power_off();
        guest.config.insert("lock".into(), json!("backup"));
        world.access.grant("/vms/100", "root@pam", "PVEVMUser");
    });
    let (status, _) = ended(&api, &api.delete(&format!("{path}?purge=1")).await).await;
    assert_eq!(status, "VM is locked (backup)");
    let (status, log) = ended(&api, &api.delete(&format!("{path}?purge=1&skiplock=1")).await).await;
    assert_eq!(status, "OK");
    assert!(log.contains(&"NOTE: removed VM 100 from HA resource configuration.".into()), "{log:?}");
    assert!(pve.world(|world| world.access.config.acl.get("/vms/100").is_none()));
    assert_eq!(refusal(api.delete(&path).await), "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist");
}

#[tokio::test]
async fn a_backup_gives_the_machine_back() {
    let (pve, api) = started(with_files(Scenario::one_vm())).await;
    let archive = "files:backup/vzdump-qemu-100-2026_01_02-03_04_05.vma.zst";
    pve.world(|world| {
        let payload = serde_json::to_value(&world.guests[&100]).ok();
        let (content, format) = ("backup".to_string(), "vma.zst".to_string());
        let volume = Volume { volid: archive.into(), content, format, size: 1 << 30, payload, ..Volume::default() };
        world.put_volume("pve1", volume);
    });
    let exists = api.post(VMS, json!({"vmid": 100, "archive": archive})).await;
    assert_eq!(exists.refusal().1, "unable to restore VM 100 - VM 100 already exists on node 'pve1'");
    let drive = api.post(VMS, json!({"vmid": 101, "archive": archive, "scsi0": "local-lvm:1"})).await;
    assert_eq!(drive.refusal().2["scsi0"], "option conflicts with option 'archive'");
    let form = json!({"vmid": 101, "archive": archive, "storage": "files", "unique": 1, "name": "again"});
    let (status, log) = ended(&api, &api.post(VMS, form).await).await;
    assert_eq!(status, "OK", "{log:#?}");
    let config = api.get(&format!("{VMS}/101/config")).await.data().clone();
    assert_eq!((&config["scsi0"], &config["name"]), (&json!("files:101/vm-101-disk-0.raw,size=8G"), &json!("again")));
    assert_ne!(config["net0"], api.get(&format!("{VMS}/100/config")).await.data()["net0"]);
    let over = api.post(VMS, json!({"vmid": 100, "archive": archive, "force": 1})).await;
    assert_eq!(ended(&api, &over).await.0, "OK");
    assert_eq!(api.get(&format!("{VMS}/100/config")).await.data()["scsi0"], "local-lvm:vm-100-disk-0,size=8G");
    let gone = api.post(VMS, json!({"vmid": 102, "archive": "files:backup/no.vma"})).await;
    assert_eq!(gone.refusal().1, "volume 'files:backup/no.vma' does not exist");
}

#[tokio::test]
async fn the_worker_of_a_change_has_a_log() {
    let (pve, api) = started(Scenario::one_vm()).await;
    let config = format!("{VMS}/100/config");
    let got = api.post(&config, json!({"cores": 2, "cipassword": "hidden-word"})).await;
    let (status, log) = ended(&api, &got).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "update VM 100: -cipassword <hidden> -cores 2"));
    assert_eq!(api.post(&config, json!({"cores": 3, "background_delay": 5})).await.data(), &Value::Null);
    pve.world(|world| {
        let other = Guest::new(GuestKind::Vm, 110, "pve1", json!({"lock": "backup"}));
        world.guests.insert(110, other);
    });
    let locked = api.post(&format!("{VMS}/110/config"), json!({"cores": 3})).await;
    assert_eq!(locked.refusal().1, "VM is locked (backup)");
    api.put(&format!("{VMS}/110/config"), json!({"cores": 3, "skiplock": 1})).await.data();
    let tags = api.put(&config, json!({"tags": "b;A,a"})).await;
    tags.data();
    assert_eq!(api.get(&config).await.data()["tags"], "a;b");
}

#[tokio::test]
async fn sizes_beyond_all_bounds_break_nothing() {
    let (pve, api) = started(with_files(Scenario::one_vm())).await;
    let config = format!("{VMS}/100/config");
    for scsi1 in ["local-lvm:99999999999999999999", "files:99999999999999999999"] {
        assert_eq!(api.put(&config, json!({"scsi1": scsi1})).await.status, 200);
        let got = api.put(&format!("{VMS}/100/resize"), json!({"disk": "scsi1", "size": "+99999999999999T"})).await;
        ended(&api, &got).await;
    }
    ended(&api, &api.post(&format!("{VMS}/100/clone"), json!({"newid": 101})).await).await;
    assert_eq!(api.get(VMS).await.data().as_array().map(Vec::len), pve.world(|world| Some(world.guests.len())));
}
