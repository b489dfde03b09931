//! `/nodes/{node}/apt/repositories`: where a node gets its packages. The part of Proxmox behind it is Rust: real booleans.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::behaviour::{Answer, Call, Data, Failure};

/// Where changed files are kept, in a node's state.
const STATE: &str = "apt-repositories";

const LISTS: &str = "/etc/apt/sources.list.d";
const PROXMOX: &str = "http://download.proxmox.com/debian";
const ENTERPRISE: &str = "https://enterprise.proxmox.com/debian";

/// A repository that Proxmox knows by name.
struct Standard {
    handle: &'static str,
    name: &'static str,
    description: &'static str,
    file: &'static str,
    uri: &'static str,
    component: &'static str,
}

const fn standard(
    handle: &'static str,
    name: &'static str,
    description: &'static str,
    file: &'static str,
    at: (&'static str, &'static str),
) -> Standard {
    Standard { handle, name, description, file, uri: at.0, component: at.1 }
}

const STANDARD: [Standard; 6] = [
    standard(
        "enterprise",
        "Enterprise",
        "stable packages, with a subscription",
        "pve-enterprise.sources",
        ("https://enterprise.proxmox.com/debian/pve", "pve-enterprise"),
    ),
    standard(
        "no-subscription",
        "No-Subscription",
        "packages without a subscription",
        "proxmox.sources",
        ("http://download.proxmox.com/debian/pve", "pve-no-subscription"),
    ),
    standard(
        "test",
        "Test",
        "newest packages, to try them",
        "proxmox.sources",
        ("http://download.proxmox.com/debian/pve", "pve-test"),
    ),
    standard(
        "ceph-squid-enterprise",
        "Ceph Squid Enterprise",
        "stable Ceph, with a subscription",
        "ceph.sources",
        ("https://enterprise.proxmox.com/debian/ceph-squid", "enterprise"),
    ),
    standard(
        "ceph-squid-no-subscription",
        "Ceph Squid No-Subscription",
        "Ceph without a subscription",
        "ceph.sources",
        ("http://download.proxmox.com/debian/ceph-squid", "no-subscription"),
    ),
    standard(
        "ceph-squid-test",
        "Ceph Squid Test",
        "newest Ceph, to try it",
        "ceph.sources",
        ("http://download.proxmox.com/debian/ceph-squid", "test"),
    ),
];

/// `GET …/repositories`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let files = files(call);
    let repos = STANDARD.iter().map(|standard| {
        let mut shown = json!({"handle": standard.handle, "name": standard.name, "description": standard.description});
        if let Some(repository) = repositories(&files).find(|repository| is_standard(repository, standard)) {
            shown["status"] = repository["Enabled"].clone();
        }
        shown
    });
    let infos = infos(&files);
    let digest = digest(&files);
    let with_digests: Vec<Value> = files
        .iter()
        .map(|file| {
            let mut file = file.clone();
            file["digest"] = json!(Sha256::digest(file.to_string().as_bytes()).to_vec());
            file
        })
        .collect();
    Ok(json!({
        "files": with_digests, "errors": [], "digest": digest, "infos": infos, "standard-repos": repos.collect::<Vec<_>>(),
    })
    .into())
}

/// `PUT …/repositories`: adds a standard repository, or switches it on.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let mut files = files(call);
    call.check_digest(&digest(&files))?;
    let handle = call.params.text("handle");
    let Some(standard) = STANDARD.iter().find(|standard| standard.handle == handle) else {
        return Err(Failure::die(format!("unknown repository handle - {handle}")));
    };
    for repository in files.iter_mut().filter_map(|file| file["repositories"].as_array_mut()).flatten() {
        if is_standard(repository, standard) {
            repository["Enabled"] = json!(true);
            return keep(call, files);
        }
    }
    let path = format!("{LISTS}/{}", standard.file);
    let new = repository(standard.uri, "trixie", standard.component, true);
    match files.iter_mut().find(|file| file["path"] == path) {
        Some(file) => file["repositories"].as_array_mut().into_iter().for_each(|list| list.push(new.clone())),
        None => files.push(file(&path, vec![new])),
    }
    keep(call, files)
}

/// `POST …/repositories`: switches one on or off.
pub(crate) fn change(call: &mut Call<'_>) -> Answer {
    let mut files = files(call);
    call.check_digest(&digest(&files))?;
    let (path, index) = (call.params.text("path"), call.params.text("index"));
    let Some(file) = files.iter_mut().find(|file| file["path"] == path) else {
        return Err(Failure::die(format!("invalid path: {path}")));
    };
    let at = index.parse::<usize>().ok();
    let Some(repository) = at.and_then(|at| file["repositories"].as_array_mut()?.get_mut(at)) else {
        return Err(Failure::die(format!("invalid index: {index}")));
    };
    if let Some(enabled) = call.params.flag("enabled") {
        repository["Enabled"] = json!(enabled);
    }
    keep(call, files)
}

/// Where packages come from, as the package manager prints it.
pub(super) fn enabled_uris(call: &Call<'_>) -> Vec<String> {
    let files = files(call);
    let enabled = repositories(&files).filter(|repository| repository["Enabled"] == true);
    let uris = enabled.flat_map(|repository| {
        let uri = repository["URIs"][0].as_str().unwrap_or_default().to_string();
        let suites = repository["Suites"].as_array().cloned().unwrap_or_default();
        suites.into_iter().map(move |suite| format!("{uri} {}", suite.as_str().unwrap_or_default()))
    });
    uris.collect()
}

fn keep(call: &mut Call<'_>, files: Vec<Value>) -> Answer {
    let name = call.node();
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.state.insert(STATE.into(), Value::Array(files));
    }
    Ok(Data::null())
}

/// The files of a node: those of an installation, until something was changed.
fn files(call: &Call<'_>) -> Vec<Value> {
    let kept = call.world.nodes.get(&call.node()).and_then(|node| node.state.get(STATE));
    if let Some(Value::Array(files)) = kept {
        return files.clone();
    }
    let debian = |suites: &str, security: bool| {
        let uri = if security { "http://security.debian.org/debian-security" } else { "http://deb.debian.org/debian" };
        repository(uri, suites, "main contrib non-free-firmware", true)
    };
    vec![
        file(
            &format!("{LISTS}/debian.sources"),
            vec![debian("trixie trixie-updates", false), debian("trixie-security", true)],
        ),
        file(
            &format!("{LISTS}/pve-enterprise.sources"),
            vec![repository(&format!("{ENTERPRISE}/pve"), "trixie", "pve-enterprise", false)],
        ),
        file(
            &format!("{LISTS}/proxmox.sources"),
            vec![repository(&format!("{PROXMOX}/pve"), "trixie", "pve-no-subscription", true)],
        ),
    ]
}

fn file(path: &str, repositories: Vec<Value>) -> Value {
    json!({"path": path, "file-type": "sources", "repositories": repositories})
}

fn repository(uri: &str, suites: &str, components: &str, enabled: bool) -> Value {
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    json!({
        "Types": ["deb"], "URIs": [uri], "Suites": words(suites), "Components": words(components),
        "Options": [{"Key": "Signed-By", "Values": [keyring(uri)]}], "Comment": "", "FileType": "sources", "Enabled": enabled,
    })
}

fn keyring(uri: &str) -> &'static str {
    if uri.contains("proxmox.com") {
        "/usr/share/keyrings/proxmox-archive-keyring.gpg"
    } else {
        "/usr/share/keyrings/debian-archive-keyring.gpg"
    }
}

fn repositories(files: &[Value]) -> impl Iterator<Item = &Value> {
    files.iter().filter_map(|file| file["repositories"].as_array()).flatten()
}

fn is_standard(repository: &Value, standard: &Standard) -> bool {
    let holds =
        |key: &str, wanted: &str| repository[key].as_array().is_some_and(|list| list.iter().any(|item| item == wanted));
    holds("URIs", standard.uri) && holds("Components", standard.component)
}

fn digest(files: &[Value]) -> String {
    let hash = Sha256::digest(json!(files).to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where each repository comes from.
fn infos(files: &[Value]) -> Vec<Value> {
    let mut infos = Vec::new();
    for file in files {
        for (at, repository) in file["repositories"].as_array().into_iter().flatten().enumerate() {
            let uri = repository["URIs"][0].as_str().unwrap_or_default();
            let origin = if uri.contains("proxmox.com") { "Proxmox" } else { "Debian" };
            infos.push(json!({"path": file["path"], "index": at.to_string(), "kind": "origin", "message": origin}));
        }
    }
    infos
}
