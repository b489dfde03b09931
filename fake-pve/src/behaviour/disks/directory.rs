//! Disks that are mounted below `/mnt/pve`.

use serde_json::{Map, Value, json};

use super::{
    WORK, add_storage, check_storage, collection, devices, forget_storages, free, partition, release, size, take,
};
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET …/directory`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let made = call.world.documents.list(&collection(&call.node(), "directory"));
    let items = made.iter().map(|(name, directory)| {
        json!({
            "unitfile": unit(name), "path": format!("/mnt/pve/{name}"), "device": word(directory, "device"),
            "type": word(directory, "type"), "options": "defaults",
        })
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `POST …/directory`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (name, device) = (call.params.text("name"), call.params.text("device"));
    let filesystem = call.params.get("filesystem").unwrap_or_else(|| "ext4".into());
    let disks = vec![device.clone()];
    free(call, &disks)?;
    check_storage(call, &name)?;
    if call.world.documents.get(&collection(&call.node(), "directory"), &name).is_some() {
        return Err(Failure::die(format!("a systemd mount unit already exists: {}", unit(&name))));
    }
    let (add, size) = (call.params.is_on("add_storage"), size(call, &disks));
    let uuid = call.world.random.uuid();
    let task = call.task("dircreate", &name).lasts(WORK).line(format!("# /sbin/sgdisk -n1 -t1:8300 {device}"));
    let task = task.line(format!("# /sbin/mkfs -t {filesystem} {}", partition(&device))).finish(move |run| {
        let node = run.node.to_string();
        take(run.world, &node, &disks, &filesystem);
        let directory = json!({"device": format!("/dev/disk/by-uuid/{uuid}"), "type": filesystem, "devices": disks});
        let directory = directory.as_object().cloned().unwrap_or_default();
        run.world.documents.put(&collection(&node, "directory"), &name, directory);
        if add {
            let path = format!("/mnt/pve/{name}");
            let content = "backup,images,iso,rootdir,snippets,vztmpl";
            let config = json!({"type": "dir", "path": path, "content": content, "is_mountpoint": "1"});
            add_storage(run.world, &node, &name, config, size);
        }
        run.log(format!("Created symlink '/etc/systemd/system/multi-user.target.wants/mnt-pve-{name}.mount'"));
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/directory/{name}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let (clean, config) = (call.params.is_on("cleanup-disks"), call.params.is_on("cleanup-config"));
    if clean && !call.is_root() {
        call.require("/", &["Sys.Modify"])?;
    }
    let task = call.task("dirremove", &name).lasts(WORK).finish(move |run| {
        let node = run.node.to_string();
        let gone = run.world.documents.remove(&collection(&node, "directory"), &name);
        let Some(directory) = gone else {
            return Err(format!("removing unit file '{}' failed: No such file or directory", unit(&name)));
        };
        release(run.world, &node, &devices(&directory), clean);
        forget_storages(run.world, &node, "path", &format!("/mnt/pve/{name}"), config);
        Ok(())
    });
    call.start(task)
}

/// Whether a directory lies on a disk.
pub(super) fn mounts(call: &Call<'_>, path: &str) -> bool {
    let made = call.world.documents.list(&collection(&call.node(), "directory")).iter();
    made.into_iter()
        .any(|(_, directory): &(String, Map<String, Value>)| devices(directory).iter().any(|disk| disk == path))
}

fn unit(name: &str) -> String {
    format!("/etc/systemd/system/mnt-pve-{}.mount", name.replace('-', "\\x2d"))
}
