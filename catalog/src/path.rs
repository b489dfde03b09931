//! Path templates such as `/nodes/{node}/qemu/{vmid}`: matching, rendering, and what a path value may hold.
//!
//! Proxmox decodes a path once and splits it afterwards, so percent-encoding a `/` in a value does not protect it: the
//! decoded value would be split all the same. A value is therefore refused unless it is harmless *before* encoding.

use percent_encode::encode;

mod percent_encode {
    /// Encodes every byte that is not an unreserved character of RFC 3986, nor in `keep`.
    pub fn encode(value: &str, keep: &str) -> String {
        let mut out = String::with_capacity(value.len());
        for byte in value.bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.as_bytes().contains(&byte);
            if plain {
                out.push(byte as char);
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        out
    }
}

/// Why a value may not stand in a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A placeholder got no value.
    #[error("'{0}' is part of the path and must be given")]
    Missing(String),
    /// The value is empty.
    #[error("'{0}' is part of the path and may not be empty")]
    Empty(String),
    /// The value would change how the path is split, or hides a character.
    #[error("'{name}' may not hold {what}: it is part of the path")]
    Forbidden {
        /// The placeholder.
        name: String,
        /// What was found in the value.
        what: &'static str,
    },
    /// A whole path that is not in plain form: everything that it may not hold.
    #[error("the path may not hold {0}")]
    NotPlain(String),
}

/// The placeholders of a template, in order.
pub fn placeholders(template: &str) -> impl Iterator<Item = &str> {
    template.split('/').filter_map(placeholder)
}

/// `{name}` -> `name`.
pub fn placeholder(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Whether the placeholder takes the whole rest of the path, as Proxmox's own routes do: a volume of a storage's content
/// and the CIDR of an ipset may hold `/`.
pub fn takes_rest(template: &str, name: &str) -> bool {
    match name {
        "volume" => template.contains("/content/{volume}"),
        "cidr" => template.contains("/ipset/{name}/{cidr}"),
        _ => false,
    }
}

/// Matches a decoded path against a template; values in template order. Empty segments are skipped, as Proxmox does.
pub fn matches<'p>(template: &str, path: &'p str) -> Option<Vec<(String, &'p str)>> {
    let mut values = Vec::new();
    let mut rest = path;
    for wanted in template.split('/').filter(|segment| !segment.is_empty()) {
        rest = rest.trim_start_matches('/');
        if let Some(name) = placeholder(wanted)
            && takes_rest(template, name)
        {
            let value = rest.trim_end_matches('/');
            if value.is_empty() {
                return None;
            }
            values.push((name.to_string(), value));
            return Some(values);
        }
        let (segment, after) = rest.split_once('/').unwrap_or((rest, ""));
        match placeholder(wanted) {
            Some(name) if !segment.is_empty() => values.push((name.to_string(), segment)),
            None if segment == wanted => {}
            _ => return None,
        }
        rest = after;
    }
    rest.trim_start_matches('/').is_empty().then_some(values)
}

/// Fills a template; every value is checked, then encoded. The result is ASCII and splits exactly as the template does.
///
/// # Errors
/// `Missing`, `Empty` or `Forbidden` with the placeholder's name.
pub fn render<'v>(template: &str, value_of: impl Fn(&str) -> Option<&'v str>) -> Result<String, PathError> {
    let mut out = String::with_capacity(template.len() + 16);
    for segment in template.split('/').filter(|segment| !segment.is_empty()) {
        out.push('/');
        let Some(name) = placeholder(segment) else {
            out.push_str(segment);
            continue;
        };
        let value = value_of(name).ok_or_else(|| PathError::Missing(name.into()))?;
        let rest = takes_rest(template, name);
        check_value(name, value, rest)?;
        out.push_str(&encode(value, if rest { "/:" } else { ":" }));
    }
    Ok(out)
}

/// Checks one path value; `rest` allows `/` between non-empty parts that are not dot segments.
///
/// # Errors
/// `Empty` or `Forbidden`.
pub fn check_value(name: &str, value: &str, rest: bool) -> Result<(), PathError> {
    let forbidden = |what| Err(PathError::Forbidden { name: name.into(), what });
    if value.is_empty() {
        return Err(PathError::Empty(name.into()));
    }
    if value.contains('\\') {
        return forbidden("'\\'");
    }
    if value.contains('%') && !(name == "upid" && is_encoded_upid(value)) {
        return forbidden("'%'");
    }
    if value.chars().any(|c| c.is_control()) {
        return forbidden("a control character");
    }
    if value.contains('/') && !rest {
        return forbidden("'/'");
    }
    if value.split('/').any(str::is_empty) {
        return forbidden("an empty part");
    }
    if value.split('/').any(|part| part == "." || part == "..") {
        return forbidden("a dot segment");
    }
    Ok(())
}

/// Proxmox writes odd characters of a task's id as `%XX`, and such an identifier is one segment after the one decoding that
/// happens: it is the only value that may hold `%`.
fn is_encoded_upid(value: &str) -> bool {
    let hex = |at: usize| value.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    value.starts_with("UPID:") && value.match_indices('%').all(|(at, _)| hex(at + 1) && hex(at + 2))
}

/// Checks a whole path that a caller wrote (`pve_api_read`, `pve_api_write`): it must already be in the form in which
/// Proxmox sees it after decoding.
///
/// # Errors
/// `NotPlain` names all that is wrong.
pub fn check_plain(path: &str) -> Result<(), PathError> {
    let problems = [
        (path.trim_matches('/').is_empty(), "nothing but '/'"),
        (path.contains('?'), "'?' (parameters go in 'params')"),
        (path.contains('#'), "'#'"),
        (path.contains("//") && !path.trim_matches('/').is_empty(), "'//'"),
        (path.contains('%'), "'%' (write the path decoded)"),
        (path.contains('\\'), "'\\'"),
        (!path.is_ascii(), "characters that are not ASCII"),
        (path.chars().any(|c| c.is_ascii_control() || c == ' '), "spaces or control characters"),
        (path.split('/').any(|part| part == "." || part == ".."), "a dot segment"),
    ];
    let found: Vec<&str> = problems.iter().filter(|(found, _)| *found).map(|(_, problem)| *problem).collect();
    if found.is_empty() { Ok(()) } else { Err(PathError::NotPlain(found.join(", "))) }
}
