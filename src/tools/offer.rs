//! Which tools are offered: toolsets and name patterns.

use crate::config::Offer;

/// Whether one of the tool's toolsets is loaded.
pub fn loaded(offer: &Offer, domains: &[&str]) -> bool {
    domains.iter().any(|domain| offer.toolsets.iter().any(|toolset| toolset == domain))
}

/// Whether `PROXMOX_TOOLS` and `PROXMOX_EXCLUDE_TOOLS` let this name through.
pub fn wanted(offer: &Offer, name: &str) -> bool {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
    (offer.only.is_empty() || any(&offer.only)) && !any(&offer.exclude)
}

/// Whether a name fits a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let Some((middle, tail)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
    for part in middle.split('*') {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_stars_anywhere() {
        let cases = [
            ("pve_list_*", "pve_list_vms", true),
            ("*_vm", "pve_start_vm", true),
            ("*", "x", true),
            ("pve_*_vm_*", "pve_get_vm_config", true),
            ("pve_*_vm_*", "pve_get_lxc_config", false),
            ("pve_list", "pve_list_vms", false),
            ("*vm*", "pve_vm", true),
            ("pve_vm*vm", "pve_vm", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn an_exclusion_wins() {
        let offer = Offer { only: vec!["pve_*".into()], exclude: vec!["*_vm".into()], ..Offer::default() };
        assert!(wanted(&offer, "pve_list_vms"));
        assert!(!wanted(&offer, "pve_start_vm"));
    }
}
