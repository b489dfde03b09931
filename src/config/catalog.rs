//! The catalogue of another Proxmox version that `PROXMOX_CATALOG` names.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use pve_catalog::import::MOST_BYTES;
use pve_catalog::{Catalog, Verb};

use super::value::Source;

const NAME: &str = "PROXMOX_CATALOG";

/// The catalogue of the settings; the embedded one when none is named, or when that cannot be read (noted in the source).
pub fn read(source: &mut Source, warnings: &mut Vec<String>) -> &'static Catalog {
    let Some(file) = source.text(NAME) else { return Catalog::embedded() };
    let read = text_of(Path::new(&file)).and_then(|text| Catalog::imported(&text).map_err(|error| error.to_string()));
    match read {
        Ok(catalog) => {
            warnings.extend(what_is_guarded(catalog));
            catalog
        }
        Err(problem) => {
            source.problem(NAME, format!("the catalogue cannot be used: {problem}"));
            Catalog::embedded()
        }
    }
}

/// The text of a file that may be anything: at most 32 MiB of it are read.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn text_of(file: &Path) -> Result<String, String> {
    let limit = MOST_BYTES as u64 + 1;
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(limit).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes > MOST_BYTES => Err(format!("it is larger than {} MiB", MOST_BYTES >> 20)),
        Ok(_) => Ok(text),
        Err(error) => Err(format!("the file cannot be read: {error}")),
    }
}

/// What a person should know about methods that nobody has looked at.
fn what_is_guarded(catalog: &Catalog) -> Option<String> {
    let unknown = catalog.methods().iter().filter(|method| !Catalog::knows(method.verb, method.path));
    let (reads, writes): (Vec<_>, Vec<_>) = unknown.partition(|method| method.verb == Verb::Get);
    let told = |count: usize, variable: &str| (count > 0).then(|| format!("{count} need {variable}"));
    let parts = [told(reads.len(), "PROXMOX_ALLOW_SENSITIVE"), told(writes.len(), "PROXMOX_ALLOW_ELEVATED")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty())
        .then(|| format!("{NAME}: this server's own decisions do not know all of its methods: {}", parts.join(", ")))
}
