//! What each storage type is: its options, the content and formats it may hold, where its files lie.

use super::Storage;

/// How an option stands in the configuration of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Given once, when the storage is made, and never changed.
    Fixed,
    /// Must be there, may be changed.
    Required,
    /// May be given when the storage is made, and never changed.
    OptionalFixed,
    /// May come and go.
    Optional,
}

/// A storage type.
#[derive(Debug)]
pub struct Plugin {
    /// `dir`, `lvmthin` …
    pub name: &'static str,
    /// Content types that it may hold; `none` where it may hold nothing.
    pub content: &'static [&'static str],
    /// Content when none is configured.
    pub default_content: &'static str,
    /// Image formats; the first is the default.
    pub formats: &'static [&'static str],
    /// Whether all nodes see the same volumes, whatever the configuration says.
    pub always_shared: bool,
    /// Whether volumes are files beneath `path`.
    pub file_based: bool,
    /// Where it is mounted when the configuration has no `path`: beneath `/mnt/pve`.
    pub mounted: bool,
    /// Options that must be given.
    needed: &'static [(&'static str, Need)],
    /// Options that may be given.
    optional: &'static [&'static str],
    /// Secrets among the options: kept apart from the configuration.
    pub secrets: &'static [&'static str],
}

const FILES: &[&str] = &["images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"];
const SHARED_FILES: &[&str] = &["images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import"];
const DISKS: &[&str] = &["images", "rootdir"];
const FILE_FORMATS: &[&str] = &["raw", "qcow2", "vmdk", "subvol"];

use Need::{Fixed, OptionalFixed, Required};

/// Every type, sorted by name.
pub static PLUGINS: [Plugin; 14] = [
    Plugin {
        name: "btrfs",
        content: FILES,
        default_content: "images,rootdir",
        formats: FILE_FORMATS,
        always_shared: false,
        file_based: true,
        mounted: false,
        needed: &[("path", Fixed)],
        optional: &[
            "nodes",
            "shared",
            "disable",
            "prune-backups",
            "max-protected-backups",
            "content",
            "format",
            "is_mountpoint",
            "nocow",
            "mkdir",
            "create-base-path",
            "create-subdirs",
        ],
        secrets: &[],
    },
    Plugin {
        name: "cephfs",
        content: &["vztmpl", "iso", "backup", "snippets", "import"],
        default_content: "backup",
        formats: &["raw"],
        always_shared: true,
        file_based: true,
        mounted: true,
        needed: &[("path", Fixed)],
        optional: &[
            "content-dirs",
            "monhost",
            "nodes",
            "subdir",
            "disable",
            "options",
            "username",
            "content",
            "format",
            "mkdir",
            "create-base-path",
            "create-subdirs",
            "fuse",
            "bwlimit",
            "keyring",
            "prune-backups",
            "max-protected-backups",
            "fs-name",
        ],
        secrets: &["keyring"],
    },
    Plugin {
        name: "cifs",
        content: SHARED_FILES,
        default_content: "images",
        formats: FILE_FORMATS,
        always_shared: true,
        file_based: true,
        mounted: true,
        needed: &[("path", Fixed), ("server", Fixed), ("share", Fixed), ("snapshot-as-volume-chain", OptionalFixed)],
        optional: &[
            "content-dirs",
            "subdir",
            "nodes",
            "disable",
            "prune-backups",
            "max-protected-backups",
            "content",
            "format",
            "username",
            "password",
            "domain",
            "smbversion",
            "options",
            "mkdir",
            "create-base-path",
            "create-subdirs",
            "bwlimit",
            "preallocation",
        ],
        secrets: &["password"],
    },
    Plugin {
        name: "dir",
        content: FILES,
        default_content: "images,rootdir",
        formats: FILE_FORMATS,
        always_shared: false,
        file_based: true,
        mounted: false,
        needed: &[("path", Fixed), ("snapshot-as-volume-chain", OptionalFixed)],
        optional: &[
            "content-dirs",
            "nodes",
            "shared",
            "disable",
            "prune-backups",
            "max-protected-backups",
            "content",
            "format",
            "mkdir",
            "create-base-path",
            "create-subdirs",
            "is_mountpoint",
            "bwlimit",
            "preallocation",
        ],
        secrets: &[],
    },
    Plugin {
        name: "esxi",
        content: &["import"],
        default_content: "import",
        formats: &["raw", "qcow2", "vmdk"],
        always_shared: false,
        file_based: false,
        mounted: false,
        needed: &[("server", Required), ("username", Required)],
        optional: &["nodes", "shared", "disable", "content", "password", "skip-cert-verification", "port"],
        secrets: &["password"],
    },
    Plugin {
        name: "iscsi",
        content: &["images", "none"],
        default_content: "images",
        formats: &["raw"],
        always_shared: true,
        file_based: false,
        mounted: false,
        needed: &[("portal", Fixed), ("target", Fixed)],
        optional: &["nodes", "disable", "content", "bwlimit"],
        secrets: &[],
    },
    Plugin {
        name: "iscsidirect",
        content: &["images"],
        default_content: "images",
        formats: &["raw"],
        always_shared: true,
        file_based: false,
        mounted: false,
        needed: &[("portal", Fixed), ("target", Fixed)],
        optional: &["nodes", "disable", "content", "bwlimit"],
        secrets: &[],
    },
    Plugin {
        name: "lvm",
        content: DISKS,
        default_content: "images",
        formats: &["raw", "qcow2"],
        always_shared: false,
        file_based: false,
        mounted: false,
        needed: &[("vgname", Fixed), ("base", OptionalFixed), ("snapshot-as-volume-chain", OptionalFixed)],
        optional: &[
            "nodes",
            "shared",
            "disable",
            "saferemove",
            "saferemove-stepsize",
            "saferemove_throughput",
            "content",
            "tagged_only",
            "bwlimit",
        ],
        secrets: &[],
    },
    Plugin {
        name: "lvmthin",
        content: DISKS,
        default_content: "images,rootdir",
        formats: &["raw"],
        always_shared: false,
        file_based: false,
        mounted: false,
        needed: &[("thinpool", Fixed), ("vgname", Fixed)],
        optional: &["nodes", "disable", "content", "bwlimit"],
        secrets: &[],
    },
    Plugin {
        name: "nfs",
        content: SHARED_FILES,
        default_content: "images",
        formats: FILE_FORMATS,
        always_shared: true,
        file_based: true,
        mounted: true,
        needed: &[("path", Fixed), ("server", Fixed), ("export", Fixed), ("snapshot-as-volume-chain", OptionalFixed)],
        optional: &[
            "content-dirs",
            "nodes",
            "disable",
            "prune-backups",
            "max-protected-backups",
            "options",
            "content",
            "format",
            "mkdir",
            "create-base-path",
            "create-subdirs",
            "bwlimit",
            "preallocation",
        ],
        secrets: &[],
    },
    Plugin {
        name: "pbs",
        content: &["backup", "none"],
        default_content: "backup",
        formats: &["raw"],
        always_shared: true,
        file_based: false,
        mounted: false,
        needed: &[("server", Fixed), ("datastore", Fixed)],
        optional: &[
            "namespace",
            "port",
            "nodes",
            "disable",
            "content",
            "username",
            "password",
            "encryption-key",
            "master-pubkey",
            "prune-backups",
            "max-protected-backups",
            "fingerprint",
        ],
        secrets: &["password", "encryption-key", "master-pubkey"],
    },
    Plugin {
        name: "rbd",
        content: DISKS,
        default_content: "images",
        formats: &["raw"],
        always_shared: true,
        file_based: false,
        mounted: false,
        needed: &[],
        optional: &[
            "nodes",
            "disable",
            "monhost",
            "pool",
            "data-pool",
            "namespace",
            "username",
            "content",
            "krbd",
            "keyring",
            "bwlimit",
        ],
        secrets: &["keyring"],
    },
    Plugin {
        name: "zfs",
        content: &["images"],
        default_content: "images",
        formats: &["raw"],
        always_shared: true,
        file_based: false,
        mounted: false,
        needed: &[
            ("portal", Fixed),
            ("target", Fixed),
            ("pool", Fixed),
            ("blocksize", Fixed),
            ("iscsiprovider", Fixed),
        ],
        optional: &[
            "nodes",
            "disable",
            "nowritecache",
            "sparse",
            "comstar_hg",
            "comstar_tg",
            "lio_tpg",
            "content",
            "bwlimit",
            "zfs-base-path",
        ],
        secrets: &[],
    },
    Plugin {
        name: "zfspool",
        content: DISKS,
        default_content: "images,rootdir",
        formats: &["raw", "subvol"],
        always_shared: false,
        file_based: false,
        mounted: false,
        needed: &[("pool", Fixed)],
        optional: &["blocksize", "sparse", "nodes", "disable", "content", "bwlimit", "mountpoint"],
        secrets: &[],
    },
];

impl Plugin {
    /// The type of a name.
    pub fn named(name: &str) -> Option<&'static Plugin> {
        PLUGINS.iter().find(|plugin| plugin.name == name)
    }

    /// How an option stands in this type; `None` when the type does not know it.
    pub fn option(&self, key: &str) -> Option<Need> {
        let needed = self.needed.iter().find(|(name, _)| *name == key).map(|(_, need)| *need);
        needed.or_else(|| self.optional.contains(&key).then_some(Need::Optional))
    }

    /// The options without which a storage of this type cannot be made.
    pub fn required(&self) -> impl Iterator<Item = &'static str> {
        let without = |need: &Need| matches!(need, Need::Fixed | Need::Required);
        self.needed.iter().filter(move |(_, need)| without(need)).map(|(name, _)| *name)
    }

    /// A configured content list as it is kept: known types only, no type twice, `none` for nothing.
    ///
    /// # Errors
    /// A type that this plugin cannot hold, or `none` beside others.
    pub fn check_content(&self, list: &[String]) -> Result<String, String> {
        let mut kept: Vec<&str> = Vec::new();
        for kind in list {
            if !self.content.contains(&kind.as_str()) {
                return Err(format!("storage does not support content type '{kind}'"));
            }
            if !kept.contains(&kind.as_str()) {
                kept.push(kind);
            }
        }
        if kept.contains(&"none") && kept.len() > 1 {
            return Err("unable to combine 'none' with other content types".into());
        }
        match kept.as_slice() {
            [] if self.content.contains(&"none") => Ok("none".into()),
            [] => Err("storage does not support content type 'none'".into()),
            kept => Ok(kept.join(",")),
        }
    }
}

/// The folder of a content type beneath the path of a file-based storage.
pub fn folder(storage: &Storage, content: &str) -> String {
    let own = storage.option("content-dirs").unwrap_or_default();
    let own = own.split(',').filter_map(|entry| entry.trim().split_once('='));
    if let Some((_, folder)) = own.filter(|(kind, _)| *kind == content).last() {
        return folder.trim_matches('/').to_string();
    }
    match content {
        "iso" => "template/iso",
        "vztmpl" => "template/cache",
        "backup" => "dump",
        "rootdir" => "private",
        other => other,
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_as_proxmox_says() {
        let dir = Plugin::named("dir").expect("a plugin");
        assert_eq!(dir.option("path"), Some(Need::Fixed));
        assert_eq!(dir.option("snapshot-as-volume-chain"), Some(Need::OptionalFixed));
        assert_eq!((dir.option("nocow"), dir.option("nodes")), (None, Some(Need::Optional)));
        assert_eq!(
            Plugin::named("nfs").expect("a plugin").required().collect::<Vec<_>>(),
            ["path", "server", "export"]
        );
        assert!(PLUGINS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for plugin in &PLUGINS {
            assert!(plugin.default_content.split(',').all(|kind| plugin.content.contains(&kind)), "{}", plugin.name);
        }
    }

    #[test]
    fn content_is_checked() {
        let check = |plugin: &str, list: &[&str]| {
            let list: Vec<String> = list.iter().map(|kind| (*kind).to_string()).collect();
            Plugin::named(plugin).expect("a plugin").check_content(&list)
        };
        assert_eq!(check("dir", &["iso", "images", "iso"]), Ok("iso,images".into()));
        assert_eq!(check("dir", &[]), Ok("none".into()));
        assert_eq!(check("lvm", &["iso"]), Err("storage does not support content type 'iso'".into()));
        assert_eq!(check("lvm", &[]), Err("storage does not support content type 'none'".into()));
        assert_eq!(check("dir", &["none", "iso"]), Err("unable to combine 'none' with other content types".into()));
    }
}
