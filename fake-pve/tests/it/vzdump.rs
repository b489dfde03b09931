//! Backups: what the task does and says, what an archive holds, who may do what.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::volumes::ended;

async fn started(scenario: Scenario, mode: Mode) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).clock(mode).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

async fn backups(api: &Api) -> Vec<Value> {
    let list = api.get("/nodes/pve1/storage/local/content?content=backup").await;
    list.data().as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_stopped_machine_is_backed_up_with_all_its_lines() {
    let (pve, api) = started(Scenario::one_vm(), Mode::Manual).await;
    let form = json!({
        "vmid": 100, "storage": "local", "compress": "zstd", "notes-template": "{{guestname}} on {{node}}", "protected": 1,
    });
    let upid = api.post("/nodes/pve1/vzdump", form).await.data().clone();
    assert!(upid.as_str().is_some_and(|upid| upid.contains(":vzdump:100:root@pam:")), "{upid}");
    let locked = pve.world(|world| world.guests[&100].lock());
    assert_eq!(locked.as_deref(), Some("backup"));
    pve.advance(Duration::from_secs(60));
    let (status, log) = ended(&api, &upid).await;
    assert_eq!(status, "OK", "{log:#?}");
    let archive = "/var/lib/vz/dump/vzdump-qemu-100-2026_12_01-12_00_00.vma.zst";
    let expected = [
        "INFO: starting new backup job: vzdump 100 --storage local --compress zstd --notes-template '{{guestname}} on {{node}}' --protected 1 --node pve1",
        "INFO: Starting Backup of VM 100 (qemu)",
        "INFO: Backup started at 2026-12-01 12:00:00",
        "INFO: status = stopped",
        "INFO: backup mode: stop",
        "INFO: ionice priority: 7",
        "INFO: VM Name: one",
        "INFO: include disk 'scsi0' 'local-lvm:vm-100-disk-0' 8G",
        &format!("INFO: creating vzdump archive '{archive}'"),
        "INFO: starting kvm to execute backup task",
    ];
    let mut words: Vec<&str> = log[0].split(" --").collect();
    words.sort_unstable();
    let mut wanted: Vec<&str> = expected[0].split(" --").collect();
    wanted.sort_unstable();
    assert_eq!(words, wanted);
    assert_eq!(&log[1..10], &expected[1..].iter().map(|line| (*line).to_string()).collect::<Vec<_>>()[..]);
    let end = &log[log.len() - 9..];
    assert_eq!(end[0], "INFO: transferred 8.00 GiB in 22 seconds (372.4 MiB/s)");
    assert_eq!(end[1], "INFO: stopping kvm after backup task");
    assert!(end[2].starts_with("INFO: archive file size: 778MB"), "{}", end[2]);
    let rest = [
        "INFO: adding notes to backup",
        "INFO: marking backup as protected",
        "INFO: Finished Backup of VM 100 (00:00:22)",
        "INFO: Backup finished at 2026-12-01 12:00:22",
        "INFO: Backup job finished successfully",
        "TASK OK",
    ];
    assert_eq!(&end[3..], &rest.map(String::from)[..]);
    let made = backups(&api).await;
    assert_eq!((&made[0]["notes"], &made[0]["protected"]), (&json!("one on pve1"), &json!(1)));
    assert_eq!((&made[0]["ctime"], &made[0]["format"]), (&json!(1_796_126_400), &json!("vma.zst")));
    assert_eq!(pve.world(|world| world.guests[&100].lock()), None);
    let volid = made[0]["volid"].as_str().expect("a volume");
    let text = api.get(&format!("/nodes/pve1/vzdump/extractconfig?volume={volid}")).await;
    let text = text.data().as_str().expect("a text").to_string();
    assert!(text.contains("scsi0: local-lvm:vm-100-disk-0,size=8G\n") && !text.contains("lock"), "{text}");
    assert!(text.ends_with("#qmdump#map:scsi0:drive-scsi0:local-lvm:raw:\n"), "{text}");
}

#[tokio::test]
async fn a_running_machine_goes_on() {
    let scenario = Scenario::empty().vm(100, "pve1", json!({"name": "web", "agent": "1"})).running(100);
    let (pve, api) = started(scenario, Mode::Auto).await;
    let got = api.post("/nodes/pve1/vzdump", json!({"vmid": 100, "mode": "snapshot"})).await;
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!(status, "OK");
    let line =
        |text: &str| log.iter().position(|line| line.starts_with(text)).unwrap_or_else(|| panic!("{text} {log:#?}"));
    let order = [
        line("INFO: status = running"),
        line("INFO: VM Name: web"),
        line("INFO: backup mode: snapshot"),
        line("INFO: creating vzdump archive"),
        line("INFO: issuing guest-agent 'fs-freeze' command"),
        line("INFO: started backup task '"),
        line("INFO: resuming VM again"),
        line("INFO:  25% (2.0 GiB of 8.0 GiB) in "),
        line("INFO: 100% (8.0 GiB of 8.0 GiB) in "),
    ];
    assert!(order.is_sorted());
    assert!(pve.world(|world| world.guests[&100].runs()));
    assert_eq!(backups(&api).await[0]["format"], "vma");
}

#[tokio::test]
async fn a_container_is_stopped_only_when_asked() {
    let scenario = Scenario::one_ct().running(200);
    let (pve, api) = started(scenario, Mode::Manual).await;
    let upid = api.post("/nodes/pve1/vzdump", json!({"vmid": 200, "mode": "stop", "compress": "gzip"})).await;
    assert!(!pve.world(|world| world.guests[&200].runs()));
    pve.advance(Duration::from_secs(60));
    let (status, log) = ended(&api, upid.data()).await;
    assert_eq!(status, "OK", "{log:#?}");
    assert!(log.contains(&"INFO: including mount point rootfs ('/') in backup".to_string()));
    assert!(log.contains(&"INFO: guest is online again after 12 seconds".to_string()), "{log:#?}");
    assert!(pve.world(|world| world.guests[&200].runs()));
    let upid = api.post("/nodes/pve1/vzdump", json!({"vmid": 200})).await;
    assert!(pve.world(|world| world.guests[&200].runs()));
    pve.advance(Duration::from_secs(60));
    let (_, log) = ended(&api, upid.data()).await;
    assert!(log.contains(&"INFO: create storage snapshot 'vzdump'".to_string()), "{log:#?}");
    assert_eq!(backups(&api).await.len(), 2);
}

#[tokio::test]
async fn what_was_backed_up_can_be_restored() {
    let (pve, api) = started(Scenario::one_vm(), Mode::Auto).await;
    let got = api.post("/nodes/pve1/vzdump", json!({"vmid": 100, "compress": "zstd"})).await;
    assert_eq!(ended(&api, got.data()).await.0, "OK");
    let archive = backups(&api).await[0]["volid"].clone();
    let got = api.post("/nodes/pve1/qemu", json!({"vmid": 101, "archive": archive, "storage": "local-lvm"})).await;
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!(status, "OK", "{log:#?}");
    let config = api.get("/nodes/pve1/qemu/101/config").await;
    assert_eq!((&config.data()["name"], &config.data()["lock"]), (&json!("one"), &json!(null)));
    assert!(pve.world(|world| world.volume("pve1", "local-lvm:vm-101-disk-0").is_some()));
}

#[tokio::test]
async fn retention_follows_the_backup() {
    let (_pve, api) = started(Scenario::one_vm(), Mode::Auto).await;
    for _ in 0..3 {
        let form = json!({"vmid": 100, "prune-backups": "keep-last=2"});
        let (status, log) = ended(&api, api.post("/nodes/pve1/vzdump", form).await.data()).await;
        assert_eq!(status, "OK");
        assert!(log.contains(&"INFO: prune older backups with retention: keep-last=2".to_string()));
    }
    assert_eq!(backups(&api).await.len(), 2);
    let form = json!({"vmid": 100, "prune-backups": "keep-last=2", "remove": 0});
    let (status, log) = ended(&api, api.post("/nodes/pve1/vzdump", form).await.data()).await;
    assert_eq!(status, "job errors");
    let text = "There is a max backup limit of 2 enforced by the target storage or the vzdump parameters. Either increase \
                the limit or delete old backups.";
    assert!(log.contains(&format!("ERROR: Backup of VM 100 failed - {text}")), "{log:#?}");
    assert!(log.contains(&"INFO: Backup job finished with errors".to_string()));
}

#[tokio::test]
async fn what_cannot_be_backed_up_is_told() {
    let scenario =
        Scenario::one_vm().vm(101, "pve1", json!({"lock": "snapshot"})).node("pve2").vm(110, "pve2", json!({}));
    let (pve, api) = started(scenario, Mode::Auto).await;
    let path = "/nodes/pve1/vzdump";
    assert_eq!(api.post(path, json!({})).await.refusal().2, &json!({"vmid": "property is missing"}));
    let both = api.post(path, json!({"vmid": 100, "all": 1})).await;
    assert_eq!(both.refusal().2, &json!({"all": "option conflicts with option 'vmid'"}));
    let notes = api.post(path, json!({"vmid": 100, "storage": "local", "notes-template": "{{x}}"})).await;
    assert_eq!(notes.refusal().2, &json!({"notes-template": "found unknown: variable 'x' at char 0"}));
    assert_eq!(api.post(path, json!({"vmid": 110})).await.data(), "OK");
    let (status, _) = ended(&api, api.post(path, json!({"vmid": 100, "storage": "local-lvm"})).await.data()).await;
    let text = "could not get storage information for 'local-lvm': can't use storage 'local-lvm' for backups - wrong content type";
    assert_eq!(status, text);
    let (status, log) = ended(&api, api.post(path, json!({"vmid": "100,101,999"})).await.data()).await;
    assert_eq!(status, "job errors");
    for line in [
        "ERROR: Backup of VM 101 failed - VM is locked (snapshot)",
        "ERROR: Backup of VM 999 failed - unable to find VM '999'",
    ] {
        assert!(log.contains(&line.to_string()), "{line} {log:#?}");
    }
    assert_eq!(backups(&api).await.len(), 1);
    assert_eq!(pve.world(|world| world.guests[&101].lock()).as_deref(), Some("snapshot"));
    let (_, log) = ended(&api, api.post(path, json!({"all": 1, "exclude": "101"})).await.data()).await;
    assert!(log.iter().all(|line| !line.contains("110") && !line.contains("101 (qemu)")), "{log:#?}");
}

#[tokio::test]
async fn only_those_with_the_right_may_back_up() {
    let scenario = Scenario::one_vm().vm(101, "pve1", json!({})).user("ann@pve", "pw", "/vms/100", "PVEVMAdmin");
    let (pve, _) = started(scenario, Mode::Auto).await;
    let ann = Api::login(&pve, "ann@pve", "pw").await;
    let path = "/nodes/pve1/vzdump";
    let got = ann.post(path, json!({"vmid": 100})).await;
    assert_eq!(got.refusal().1, "Permission check failed (/storage/local, Datastore.AllocateSpace)");
    pve.world(|world| world.access.grant("/storage/local", "ann@pve", "PVEDatastoreUser"));
    let (status, _) = ended(&ann, ann.post(path, json!({"vmid": 101})).await.data()).await;
    assert_eq!(status, "403 Permission check failed (/vms/101, VM.Backup)");
    let (status, log) = ended(&ann, ann.post(path, json!({"all": 1})).await.data()).await;
    assert_eq!(status, "OK");
    assert!(log.iter().all(|line| !line.contains("VM 101")));
    let got = ann.post(path, json!({"vmid": 100, "bwlimit": 1})).await;
    assert_eq!(got.refusal().1, "Permission check failed (/, Sys.Modify)");
    let got = ann.post(path, json!({"vmid": 100, "script": "/x"})).await;
    assert_eq!(got.refusal().2, &json!({"script": "Only root may set this option."}));
}

#[tokio::test]
async fn jobs_wait_for_each_other_and_can_be_stopped() {
    let scenario = Scenario::one_vm().ct(200, "pve1", json!({})).running(200);
    let (pve, api) = started(scenario, Mode::Manual).await;
    let first = api.post("/nodes/pve1/vzdump", json!({"vmid": 100})).await.data().clone();
    let second = api.post("/nodes/pve1/vzdump", json!({"vmid": 200, "mode": "stop"})).await.data().clone();
    let log = |upid: &Value| format!("/nodes/pve1/tasks/{}/log", upid.as_str().expect("a UPID"));
    assert_eq!(api.get(&log(&second)).await.data()[0]["t"], "INFO: trying to get global lock - waiting...");
    pve.advance(Duration::from_secs(25));
    assert_eq!(ended(&api, &first).await.0, "OK");
    assert!(!pve.world(|world| world.guests[&200].runs()));
    let upid = second.as_str().expect("a UPID");
    assert_eq!(api.delete(&format!("/nodes/pve1/tasks/{upid}")).await.status, 200);
    assert_eq!(ended(&api, &second).await.0, "interrupted by signal");
    let (runs, lock) = pve.world(|world| (world.guests[&200].runs(), world.guests[&200].lock()));
    assert_eq!((runs, lock, backups(&api).await.len()), (true, None, 1));
}

#[tokio::test]
async fn what_a_backup_left_out_is_not_restored() {
    let (_pve, api) = started(Scenario::one_vm(), Mode::Auto).await;
    let second = json!({"scsi1": "local-lvm:2,backup=0"});
    assert_eq!(api.put("/nodes/pve1/qemu/100/config", second).await.status, 200);
    let upid = api.post("/nodes/pve1/vzdump", json!({"vmid": 100, "storage": "local"})).await.data().clone();
    assert_eq!(ended(&api, &upid).await.0, "OK");
    let volid = backups(&api).await[0]["volid"].clone();
    // Over the machine itself: the disk that was left out stays, and nobody uses it.
    let form = json!({"vmid": 100, "archive": volid, "force": 1});
    let (status, log) = ended(&api, api.post("/nodes/pve1/qemu", form).await.data()).await;
    assert_eq!(status, "OK", "{log:#?}");
    let config = api.get("/nodes/pve1/qemu/100/config").await;
    let config = config.data();
    assert_eq!(
        (&config["scsi1"], &config["unused0"]),
        (&Value::Null, &json!("local-lvm:vm-100-disk-1")),
        "{log:#?} {config}"
    );
    assert_eq!(config["description"], "scsi1: local-lvm:vm-100-disk-1,backup=0,size=2G\n");
    assert!(
        log.contains(&"VM 100 add unreferenced volume 'local-lvm:vm-100-disk-1' as 'unused0' to config".to_string())
    );
    // Elsewhere: only what the archive holds is made.
    let form = json!({"vmid": 200, "archive": volid, "unique": 1});
    assert_eq!(ended(&api, api.post("/nodes/pve1/qemu", form).await.data()).await.0, "OK");
    let list = api.get("/nodes/pve1/storage/local-lvm/content?vmid=200").await;
    assert_eq!(list.data().as_array().map(Vec::len), Some(1), "{}", list.body);
}
