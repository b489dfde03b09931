//! `/nodes/{node}/aplinfo`: container templates that Proxmox offers.

use serde_json::{Value, json};

use super::download::{Fetch, start};
use super::upload::enabled;
use crate::behaviour::{Answer, Call, Failure};
use crate::world::volume::name::template_format;

/// Where templates come from.
const SOURCE: &str = "http://download.proxmox.com/images";

/// Package, version, operating system, ending of the file, and what it is in one line.
const TEMPLATES: [(&str, &str, &str, &str, &str); 14] = [
    ("almalinux-10-default", "20250930", "almalinux", "tar.xz", "AlmaLinux 10, plain"),
    ("almalinux-9-default", "20240911", "almalinux", "tar.xz", "AlmaLinux 9, plain"),
    ("alpine-3.22-default", "20250617", "alpine", "tar.xz", "Alpine Linux 3.22, plain"),
    ("alpine-3.23-default", "20260116", "alpine", "tar.xz", "Alpine Linux 3.23, plain"),
    ("archlinux-base", "20240911-1", "archlinux", "tar.zst", "Arch Linux, base system"),
    ("centos-9-stream-default", "20240828", "centos", "tar.xz", "CentOS Stream 9, plain"),
    ("debian-12-standard", "12.12-1", "debian-12", "tar.zst", "Debian 12 (bookworm), standard system"),
    ("debian-13-standard", "13.1-2", "debian-13", "tar.zst", "Debian 13 (trixie), standard system"),
    ("fedora-42-default", "20250428", "fedora", "tar.xz", "Fedora 42, plain"),
    ("opensuse-15.6-default", "20240910", "opensuse", "tar.xz", "openSUSE Leap 15.6, plain"),
    ("rockylinux-10-default", "20251001", "rockylinux", "tar.xz", "Rocky Linux 10, plain"),
    ("rockylinux-9-default", "20240912", "rockylinux", "tar.xz", "Rocky Linux 9, plain"),
    ("ubuntu-22.04-standard", "22.04-1", "ubuntu-22.04", "tar.zst", "Ubuntu 22.04 (jammy), standard system"),
    ("ubuntu-24.04-standard", "24.04-2", "ubuntu-24.04", "tar.zst", "Ubuntu 24.04 (noble), standard system"),
];

/// `GET /nodes/{node}/aplinfo`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items = TEMPLATES.iter().map(|(package, version, os, ending, headline)| {
        let template = format!("{package}_{version}_amd64.{ending}");
        json!({
            "template": template, "package": package, "version": version, "os": os, "type": "lxc", "section": "system",
            "architecture": "amd64", "headline": headline, "description": headline, "source": SOURCE,
            "location": url(&template), "infopage": "https://pve.proxmox.com/wiki/Linux_Container",
            "maintainer": "Proxmox Support Team <support@proxmox.com>", "sha512sum": call.world.checksum_behind(&url(&template), "sha512"),
        })
    });
    Ok(items.collect::<Vec<Value>>().into())
}

/// `POST /nodes/{node}/aplinfo`: fetches a template into a storage.
pub(crate) fn download(call: &mut Call<'_>) -> Answer {
    let (node, id, template) = (call.node(), call.params.text("storage"), call.params.text("template"));
    let known = TEMPLATES
        .iter()
        .any(|(package, version, _, ending, _)| template == format!("{package}_{version}_amd64.{ending}"));
    if !known {
        return Err(Failure::param("template", "no such template"));
    }
    if !enabled(call, &node, &id)?.holds("vztmpl") {
        return Err(Failure::die(format!("storage '{id}' does not support templates")));
    }
    call.world.usable_storage(&node, &id)?;
    let sum = call.world.checksum_behind(&url(&template), "sha512");
    let fetch = Fetch {
        url: url(&template),
        volid: format!("{id}:vztmpl/{template}"),
        content: "vztmpl".into(),
        format: template_format(&template).unwrap_or("tar").into(),
        checksum: Some(("sha512".into(), sum)),
        compression: None,
        check_certificate: true,
    };
    start(call, fetch, &template)
}

/// Where a template lies.
fn url(template: &str) -> String {
    format!("{SOURCE}/system/{template}")
}
