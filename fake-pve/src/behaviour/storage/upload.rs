//! `POST /nodes/{node}/storage/{storage}/upload`: a file into a storage.

use std::time::Duration;

use super::content::file;
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::plugin::Plugin;
use crate::world::volume::name::template_format;

/// An uploaded file on its way into the storage.
struct Import {
    volid: String,
    content: String,
    format: String,
    temporary: String,
    size: u64,
    checksum: Option<(String, String)>,
}

/// `POST /nodes/{node}/storage/{storage}/upload`.
pub(crate) fn upload(call: &mut Call<'_>) -> Answer {
    let (node, id, content) = (call.node(), call.params.text("storage"), call.params.text("content"));
    let storage = enabled(call, &node, &id)?;
    let plugin = storage.plugin();
    if !Plugin::named(&plugin).is_some_and(|plugin| plugin.file_based) {
        return Err(Failure::die(format!("can't upload to storage type '{plugin}', not a file based storage!")));
    }
    let holds = storage.holds(&content);
    let temporary = call.params.get("tmpfilename").ok_or_else(|| Failure::die("missing temporary file name"))?;
    let Some(uploaded) = call.upload.clone() else {
        return Err(Failure::die(format!("temporary file '{temporary}' does not exist")));
    };
    let filename = normalised(&call.params.text("filename"));
    let format = file_format(&content, &filename)?;
    if !holds {
        return Err(Failure::die(format!("storage '{id}' does not support '{content}' content")));
    }
    let got = uploaded.checksum(&call.params.text("checksum-algorithm")).unwrap_or_default().to_string();
    let checksum = call.params.get("checksum").map(|expected| (got, expected));
    let import = Import {
        volid: format!("{id}:{content}/{filename}"),
        content,
        format,
        temporary,
        size: uploaded.size,
        checksum,
    };
    let lasts = Duration::from_secs(1 + import.size / (200 << 20));
    let task = call.task("imgcopy", "").lasts(lasts).finish(move |run| import_file(run, &import));
    call.start(task)
}

/// A storage that a node may use, before anybody looks whether it answers.
pub(crate) fn enabled<'c>(call: &'c Call<'_>, node: &str, id: &str) -> Result<&'c crate::world::Storage, Failure> {
    let storage = call.world.storages.get(id).ok_or_else(|| super::config::missing(id))?;
    if storage.disabled() {
        return Err(Failure::die(format!("storage '{id}' is disabled")));
    }
    if !storage.on_node(node) {
        return Err(Failure::die(format!("storage '{id}' is not available on node '{node}'")));
    }
    Ok(storage)
}

fn import_file(run: &mut Run<'_>, import: &Import) -> Result<(), String> {
    let (node, now) = (run.node.to_string(), run.now);
    run.log(format!("starting file import from: {}", import.temporary));
    if let Some((got, expected)) = &import.checksum {
        if !got.eq_ignore_ascii_case(expected) {
            run.log("calculating checksum...");
            return Err(format!("checksum mismatch: got '{got}' != expect '{expected}'"));
        }
        run.log("calculating checksum...OK, checksum verified");
    }
    let target = run.world.volume_path(&import.volid)?;
    run.log(format!("target node: {node}"));
    run.log(format!("target file: {target}"));
    run.log(format!("file size is: {}", import.size));
    run.log(format!("command: cp -- {} {target}", import.temporary));
    let id = import.volid.split(':').next().unwrap_or_default();
    run.world.usable_storage(&node, id)?;
    let before = run.world.volume(&node, &import.volid).map_or(0, |volume| volume.used);
    if !run.world.has_room(&node, id, import.size.saturating_sub(before)) {
        return Err(format!("import failed: cp: error writing '{target}': No space left on device"));
    }
    run.world.put_volume(&node, file(&import.volid, &import.content, &import.format, import.size, now, None));
    run.log("finished file import successfully");
    Ok(())
}

/// A file name as Proxmox keeps it: no folders, plain characters only.
pub(crate) fn normalised(filename: &str) -> String {
    let last = filename.trim_end_matches('\n').rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '=') { c } else { '_' };
    last.chars().map(plain).collect()
}

/// The form of a file by its content type and name.
///
/// # Errors
/// 400 on `filename`.
pub(crate) fn file_format(content: &str, filename: &str) -> Result<String, Failure> {
    let lower = filename.to_ascii_lowercase();
    let stem_and_extension = filename.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let format = match content {
        "iso" if lower.len() > 4 && (lower.ends_with(".iso") || lower.ends_with(".img")) => Some("iso"),
        "vztmpl" => template_format(filename).filter(|_| !filename.starts_with(".tar")),
        "import" => stem_and_extension
            .map(|(_, extension)| extension)
            .filter(|extension| matches!(*extension, "ova" | "qcow2" | "raw" | "vmdk")),
        _ => None,
    };
    let refusal = if content == "import" { "invalid filename or wrong extension" } else { "wrong file extension" };
    format.map(str::to_string).ok_or_else(|| Failure::param("filename", refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_plain_and_judged_by_extension() {
        assert_eq!(normalised("C:\\x\\a b(1).iso"), "a_b_1_.iso");
        assert_eq!(file_format("iso", "a.IMG").expect("an image"), "iso");
        assert_eq!(file_format("vztmpl", "a.tar.zst").expect("a template"), "tzst");
        assert_eq!(file_format("import", "a.ova").expect("a machine"), "ova");
        for (content, filename) in [("iso", "a.txt"), ("iso", ".iso"), ("vztmpl", "a.tgz"), ("import", "a.iso")] {
            assert!(file_format(content, filename).is_err(), "{content} {filename}");
        }
    }
}
