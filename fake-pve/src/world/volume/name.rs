//! Names of volumes as each plugin writes them: `vm-100-disk-0`, `100/vm-100-disk-0.qcow2`, `base-…/vm-…`.

/// A volume id taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeName {
    /// `images`, `rootdir`, `iso`, `vztmpl`, `backup`, `snippets`, `import`.
    pub content: &'static str,
    /// The last part of the name: `vm-100-disk-0.qcow2`.
    pub name: String,
    /// The guest that owns it.
    pub vmid: Option<u32>,
    /// The name of the volume that it is a linked clone of, without the storage.
    pub base: Option<String>,
    /// Whether it is a base volume itself.
    pub is_base: bool,
    /// `raw`, `qcow2`, `vmdk`, `subvol`, or the form of a file (`iso`, `tzst`, `vma.zst`).
    pub format: String,
}

/// Splits `storage:name`.
///
/// # Errors
/// `unable to parse volume ID '…'`.
pub fn split(volid: &str) -> Result<(&str, &str), String> {
    let word = |storage: &str| {
        storage.starts_with(|c: char| c.is_ascii_alphabetic())
            && storage.ends_with(|c: char| c.is_ascii_alphanumeric())
            && storage.len() > 1
            && storage.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match volid.split_once(':') {
        Some((storage, name)) if word(storage) && !name.is_empty() && !name.contains('\n') => Ok((storage, name)),
        _ => Err(format!("unable to parse volume ID '{volid}'")),
    }
}

/// Whether a plugin keeps volumes as files in directories.
pub fn is_directory(plugin: &str) -> bool {
    matches!(plugin, "dir" | "nfs" | "cifs" | "cephfs" | "btrfs")
}

/// Takes a name apart the way a plugin does.
///
/// # Errors
/// `unable to parse directory volume name '…'` and its kin, as each plugin words it.
pub fn parse(plugin: &str, volname: &str) -> Result<VolumeName, String> {
    match plugin {
        "zfspool" | "zfs" => block(volname, &["base", "basevol", "vm", "subvol"], true)
            .ok_or_else(|| format!("unable to parse zfs volume name '{volname}'")),
        "rbd" => {
            block(volname, &["base", "vm"], true).ok_or_else(|| format!("unable to parse rbd volume name '{volname}'"))
        }
        "lvmthin" => {
            block(volname, &["base", "vm"], false).ok_or_else(|| format!("unable to parse lvm volume name '{volname}'"))
        }
        "lvm" => block(volname, &["vm"], false).ok_or_else(|| format!("unable to parse lvm volume name '{volname}'")),
        "iscsi" | "iscsidirect" => {
            Ok(VolumeName { content: "images", name: volname.into(), format: "raw".into(), ..VolumeName::default() })
        }
        "pbs" => backup_server(volname).ok_or_else(|| format!("unable to parse PBS volume name '{volname}'")),
        _ => directory(volname),
    }
}

/// `backup/vm/100/2024-01-01T00:00:00Z`.
fn backup_server(volname: &str) -> Option<VolumeName> {
    let name = volname.strip_prefix("backup/")?;
    let [kind, id, time] = name.split('/').collect::<Vec<_>>()[..] else { return None };
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'Z');
    let readable = matches!(kind, "vm" | "ct" | "host") && !id.is_empty() && !id.contains([' ', '_']);
    let stamped = time.ends_with('Z') && time.contains('T') && time.chars().all(digits);
    (readable && stamped).then(|| VolumeName {
        content: "backup",
        name: name.into(),
        vmid: id.parse().ok().filter(|_| kind != "host"),
        format: format!("pbs-{kind}"),
        ..VolumeName::default()
    })
}

/// `vm-100-disk-0`, `base-100-disk-0/vm-101-disk-0`.
fn block(volname: &str, prefixes: &[&str], linked: bool) -> Option<VolumeName> {
    let (base, name) = match volname.split_once('/') {
        Some((base, name)) if linked => (Some(base), name),
        Some(_) => return None,
        None => (None, volname),
    };
    let owner = |name: &str| {
        let (prefix, rest) = name.split_once('-')?;
        let (vmid, rest) = rest.split_once('-')?;
        let known = prefixes.contains(&prefix) && !rest.is_empty();
        Some((prefix.to_string(), vmid.parse::<u32>().ok().filter(|_| known)?))
    };
    let (prefix, vmid) = owner(name)?;
    if let Some(base) = base {
        owner(base).filter(|(prefix, _)| prefix.starts_with("base"))?;
    }
    let format = match prefix.as_str() {
        "subvol" | "basevol" => "subvol",
        _ if name.ends_with(".qcow2") => "qcow2",
        _ => "raw",
    };
    Some(VolumeName {
        content: "images",
        name: name.into(),
        vmid: Some(vmid),
        base: base.map(str::to_string),
        is_base: prefix.starts_with("base"),
        format: format.into(),
    })
}

fn directory(volname: &str) -> Result<VolumeName, String> {
    let unknown = || format!("unable to parse directory volume name '{volname}'");
    let (folder, rest) = volname.split_once('/').ok_or_else(unknown)?;
    if let Ok(vmid) = folder.parse::<u32>() {
        return image(vmid, rest);
    }
    let file = |content: &'static str, format: String| {
        Ok(VolumeName { content, name: rest.into(), format, ..VolumeName::default() })
    };
    if rest.is_empty() || rest.contains('/') {
        return Err(unknown());
    }
    let lower = rest.to_ascii_lowercase();
    match folder {
        "iso" if lower.ends_with(".iso") || lower.ends_with(".img") => file("iso", "iso".into()),
        "vztmpl" => file("vztmpl", template_format(rest).ok_or_else(unknown)?.into()),
        "rootdir" => {
            let vmid = rest.parse::<u32>().map_err(|_| unknown())?;
            Ok(VolumeName { content: "rootdir", name: rest.into(), vmid: Some(vmid), ..VolumeName::default() })
        }
        "backup" => {
            let format = backup_format(rest).ok_or_else(unknown)?;
            let mut parsed =
                VolumeName { content: "backup", name: rest.into(), format: format.into(), ..VolumeName::default() };
            parsed.vmid = rest.split('-').nth(2).filter(|_| rest.starts_with("vzdump-")).and_then(|id| id.parse().ok());
            Ok(parsed)
        }
        "snippets" => file("snippets", "snippet".into()),
        "import" => {
            let extension = rest.rsplit_once('.').map_or("", |(_, extension)| extension);
            match extension {
                "ova" | "ovf" | "qcow2" | "raw" | "vmdk" => file("import", extension.into()),
                _ => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

/// `vm-100-disk-0.qcow2`, or `base-100-disk-0.qcow2/101/vm-101-disk-0.qcow2` behind the first vmid.
fn image(vmid: u32, rest: &str) -> Result<VolumeName, String> {
    let (base, owner, name) = match rest.split('/').collect::<Vec<_>>()[..] {
        [name] => (None, vmid, name),
        [base, owner, name] => match owner.parse() {
            Ok(owner) => (Some(format!("{vmid}/{base}")), owner, name),
            Err(_) => return Err(format!("unable to parse directory volume name '{vmid}/{rest}'")),
        },
        _ => return Err(format!("unable to parse volume filename '{rest}'")),
    };
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, extension)| extension);
    if !matches!(extension, "raw" | "qcow2" | "vmdk" | "subvol") {
        return Err(format!("unable to parse volume filename '{name}'"));
    }
    Ok(VolumeName {
        content: "images",
        name: name.into(),
        vmid: Some(owner),
        base,
        is_base: name.starts_with("base-"),
        format: extension.into(),
    })
}

/// `tgz`, `txz`, `tzst`, `tbz2`, `tar` of a container template's file name.
pub fn template_format(file: &str) -> Option<&'static str> {
    let endings = [(".tar.gz", "tgz"), (".tar.xz", "txz"), (".tar.zst", "tzst"), (".tar.bz2", "tbz2"), (".tar", "tar")];
    endings.iter().find(|(ending, _)| file.ends_with(ending)).map(|(_, format)| *format)
}

/// `vma.zst`, `tar.zst`, `tgz` … of a backup's file name.
pub fn backup_format(file: &str) -> Option<&'static str> {
    const ENDINGS: [&str; 9] = ["vma.zst", "vma.gz", "vma.lzo", "vma", "tar.zst", "tar.gz", "tar.lzo", "tar", "tgz"];
    ENDINGS.iter().find(|ending| file.ends_with(&format!(".{ending}"))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_each_plugin_does() {
        let linked = parse("dir", "103/base-103-disk-0.qcow2/502/vm-502-disk-0.qcow2").expect("a linked clone");
        assert_eq!(linked.base.as_deref(), Some("103/base-103-disk-0.qcow2"));
        assert_eq!((linked.vmid, linked.format.as_str()), (Some(502), "qcow2"));
        assert!(parse("dir", "103/base-103-disk-0.qcow2").is_ok_and(|name| name.is_base));
        assert_eq!(parse("dir", "nope/x"), Err("unable to parse directory volume name 'nope/x'".into()));
        assert_eq!(parse("lvmthin", "x"), Err("unable to parse lvm volume name 'x'".into()));
        let zfs = parse("zfspool", "base-100-disk-0/vm-101-disk-0").expect("a linked clone");
        assert_eq!((zfs.base.as_deref(), zfs.vmid), (Some("base-100-disk-0"), Some(101)));
        assert!(parse("zfspool", "subvol-7-disk-1").is_ok_and(|name| name.format == "subvol"));
        let backup = parse("dir", "backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst").expect("a backup");
        assert_eq!((backup.vmid, backup.format.as_str()), (Some(100), "vma.zst"));
        assert!(split("local").is_err() && split("!bad!").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_name_breaks_the_parsers(name in "\\PC{0,24}") {
            for plugin in ["dir", "lvm", "lvmthin", "zfspool", "rbd", "iscsi"] {
                let _parsed = parse(plugin, &name);
            }
            let _parts = split(&name);
        }
    }
}
