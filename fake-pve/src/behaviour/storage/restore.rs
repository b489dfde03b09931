//! `/nodes/{node}/storage/{storage}/file-restore`: looking into backups on a backup server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::volume::check_access;
use crate::behaviour::{Answer, Call, Data, Failure, Raw};
use crate::world::volume::name;

/// What every file system in a backup holds: path, size of a file or none for a folder.
const TREE: [(&str, Option<u64>); 8] = [
    ("etc", None),
    ("etc/fstab", Some(512)),
    ("etc/hostname", Some(8)),
    ("etc/hosts", Some(180)),
    ("home", None),
    ("root", None),
    ("root/.bashrc", Some(571)),
    ("var", None),
];

/// An archive with nothing in it: the end of a directory.
const EMPTY_ZIP: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// An archive with nothing in it: 1024 zero bytes in one frame.
const EMPTY_TAR: &[u8] = b"\x28\xB5\x2F\xFD\x60\x00\x03\x03\x20\x00\x00";

/// A backup of the call, when it is one of a backup server that the caller may read.
fn backup(call: &Call<'_>) -> Result<String, Failure> {
    let (id, given) = (call.params.text("storage"), call.params.text("volume"));
    let volid = match name::split(&given) {
        Ok((own, _)) if own != id => {
            return Err(Failure::param("volume", format!("storage ID mismatch ({own} != {id}).")));
        }
        Ok(_) => given,
        Err(_) if given.starts_with("backup/") => format!("{id}:{given}"),
        Err(_) => format!("{id}:backup/{given}"),
    };
    let storage = call.world.storages.get(&id).ok_or_else(|| super::config::missing(&id))?;
    check_access(call, None, &volid, Some("backup"))?;
    if storage.plugin() != "pbs" {
        return Err(Failure::param("storage", "Only PBS storages supported for file-restore."));
    }
    let node = call.node();
    call.world.usable_storage(&node, &id)?;
    match call.world.volume(&node, &volid) {
        Some(_) => Ok(volid),
        None => Err(Failure::die(format!("proxmox-file-restore failed: Error: no such snapshot: {volid}"))),
    }
}

/// A path as calls give it: `/` in plain, everything else in base64.
fn path_of(call: &Call<'_>) -> Result<String, Failure> {
    let given = call.params.text("filepath");
    if given == "/" {
        return Ok(String::new());
    }
    let decoded = STANDARD.decode(&given).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let path = decoded.ok_or_else(|| Failure::die("proxmox-file-restore failed: Error: invalid base64"))?;
    Ok(path.trim_matches('/').to_string())
}

/// `GET /nodes/{node}/storage/{storage}/file-restore/list`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let volid = backup(call)?;
    let path = path_of(call)?;
    let mtime = call.world.volume(&call.node(), &volid).map_or(0, |volume| volume.ctime);
    let archives = archives(&volid);
    let entry = |path: String, kind: &str, leaf: bool, size: Option<u64>| {
        let text = path.rsplit('/').next().unwrap_or_default().to_string();
        let mut item = json!({
            "filepath": STANDARD.encode(format!("/{path}")), "type": kind, "text": text, "leaf": i32::from(leaf),
            "mtime": mtime,
        });
        if let Some(size) = size {
            item["size"] = json!(size);
        }
        item
    };
    if path.is_empty() {
        let items = archives.into_iter().map(|archive| entry(archive, "v", false, None));
        return Ok(items.collect::<Vec<Value>>().into());
    }
    let (archive, rest) = path.split_once('/').unwrap_or((&path, ""));
    if !archives.iter().any(|known| known == archive) {
        return Err(not_found(&path));
    }
    let is_child = |inner: &str| match inner.rsplit_once('/') {
        Some((parent, _)) => parent == rest,
        None => rest.is_empty(),
    };
    let known = rest.is_empty() || TREE.iter().any(|(inner, size)| *inner == rest && size.is_none());
    if !known {
        return Err(not_found(&path));
    }
    let children = TREE.iter().filter(|(inner, _)| is_child(inner));
    let items = children.map(|(inner, size)| {
        entry(format!("{archive}/{inner}"), if size.is_some() { "f" } else { "d" }, size.is_some(), *size)
    });
    Ok(items.collect::<Vec<Value>>().into())
}

/// `GET /nodes/{node}/storage/{storage}/file-restore/download`: a file, or a folder as an archive.
pub(crate) fn download(call: &mut Call<'_>) -> Answer {
    let volid = backup(call)?;
    let path = path_of(call)?;
    let rest = path.split_once('/').map_or("", |(_, rest)| rest);
    let Some((inner, size)) = TREE.iter().find(|(inner, _)| *inner == rest) else { return Err(not_found(&path)) };
    let name = inner.rsplit('/').next().unwrap_or_default();
    let (name, content_type, bytes) = match size {
        Some(size) => (name.to_string(), "application/octet-stream", vec![b'\n'; usize::try_from(*size).unwrap_or(0)]),
        None if call.params.is_on("tar") => (format!("{name}.tar.zst"), "application/zstd", EMPTY_TAR.to_vec()),
        None => (format!("{name}.zip"), "application/zip", EMPTY_ZIP.to_vec()),
    };
    let task = call.task("pbs-download", "").line(format!("starting download of {volid} '/{path}'"));
    call.start(task)?;
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(Data::raw(Raw { content_type, headers: vec![("content-disposition", disposition)], bytes }))
}

/// The archives of a backup.
fn archives(volid: &str) -> Vec<String> {
    let archives: &[&str] = if volid.contains("backup/vm/") { &["drive-scsi0.img.fidx"] } else { &["root.pxar.didx"] };
    archives.iter().map(|archive| (*archive).to_string()).collect()
}

fn not_found(path: &str) -> Failure {
    Failure::die(format!("proxmox-file-restore failed: Error: path '/{path}' does not exist in archive"))
}
