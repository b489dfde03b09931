//! Where recordings lie: the whole below `PVE_FACTS`, or the committed sample.
//!
//! The sample holds the first fifteen steps of each transcript, every thirtieth to sixtieth line of the vectors and most
//! exchanges on the wire; long lines are left out.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file's name without endings, and its lines.
pub type Lines = Vec<(String, Vec<Value>)>;

/// Everything that is replayed.
pub struct Recording {
    /// Each in order, from the seed.
    pub transcripts: Lines,
    /// Each line from the untouched seed.
    pub vectors: Lines,
    /// Requests and replies on the wire, in order, on one world.
    pub exchanges: Vec<Value>,
    /// Whether this is the whole recording.
    pub whole: bool,
    /// The text that `VERB path` must hold.
    pub filter: Option<String>,
}

impl Recording {
    pub fn find() -> Recording {
        let facts = variable("PVE_FACTS").map(|facts| PathBuf::from(facts).join("oracle"));
        let whole = facts.is_some();
        let folder = facts.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/replay"));
        let vectors = ["exec-vectors-A", "exec-vectors-B", "exec-vectors-D", "get-per-user-vectors"];
        Recording {
            transcripts: files_of(&folder.join("transcripts")),
            vectors: vectors.iter().filter_map(|name| Some((name.to_string(), lines(&folder, name)?))).collect(),
            exchanges: lines(&folder, "http-transcripts").unwrap_or_default(),
            whole,
            filter: variable("FAKE_PVE_REPLAY"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "where recordings lie and what to show is said by the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The lines of one file, packed or not; `None` when it is not there.
pub fn lines(folder: &Path, name: &str) -> Option<Vec<Value>> {
    let plain = folder.join(format!("{name}.jsonl"));
    let packed = folder.join(format!("{name}.jsonl.gz"));
    let text = if packed.exists() {
        let mut text = String::new();
        let file = std::fs::File::open(packed).expect("a recording");
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("packed text");
        text
    } else {
        std::fs::read_to_string(plain).ok()?
    };
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect())
}

fn files_of(folder: &Path) -> Lines {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder of transcripts")
        .filter_map(|entry| entry.expect("an entry").file_name().to_str()?.split('.').next().map(str::to_string))
        .collect();
    names.sort_unstable();
    names.iter().map(|name| (format!("transcripts/{name}"), lines(folder, name).expect("the file just seen"))).collect()
}
