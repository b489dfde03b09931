//! Recorded commands put to the node's programs, their text and exit status held against the recorded ones.
//!
//! `PVE_FACTS` names the folder of the whole recording; without it the committed sample is replayed. What differs must stand
//! in `data/cli-exceptions.toml` with a reason, and what stands there must differ. The scoreboard goes to
//! `target/tmp/cli-replay.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use fake_pve::import_etc::{Files, import_files};
use fake_pve::world::Volume;
use fake_pve::{Scenario, World};
use regex::Regex;
use serde::Deserialize;

use crate::client::{Place, confined};

const EXCEPTIONS: &str = include_str!("../data/cli-exceptions.toml");
const SAMPLE: &str = include_str!("../data/cli-sample.txt");
/// Share of the recorded commands that must be answered as recorded, in percent.
const SHARE: usize = 95;

#[derive(Deserialize)]
struct Seed {
    files: Files,
    volumes: Vec<Volume>,
}

/// The world of the recording, which fake-pve's replay uses too.
fn world() -> World {
    let seed: Seed =
        serde_json::from_str(include_str!("../../../fake-pve/tests/data/replay/seed.json")).expect("the seed");
    let mut world = import_files(&seed.files).scenario.offline("pve3").world;
    world.release.repoid = "14a22df35955d97d".into();
    for node in world.nodes.values_mut() {
        node.cpus = 2;
        for manager in ["pve-ha-crm", "pve-ha-lrm"] {
            node.services.insert(manager.into(), "stopped".into());
        }
    }
    for volume in seed.volumes {
        world.put_volume("pve1", volume);
    }
    world
}

struct Step {
    command: String,
    text: String,
    exit: u32,
}

/// Reads a transcript: `$ command`, text, `[exit N]`.
fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut command, mut lines): (Option<String>, Vec<&str>) = (None, Vec::new());
    for line in text.lines() {
        if let Some(said) = line.strip_prefix("$ ") {
            (command, lines) = (Some(said.to_string()), Vec::new());
            continue;
        }
        let end = line.find("[exit ").filter(|_| line.ends_with(']'));
        match (end, &command) {
            (Some(at), Some(said)) => {
                if at > 0 {
                    lines.push(&line[..at]);
                }
                let exit = line[at + 6..line.len() - 1].parse().expect("a number");
                let (mut said, mut text) = (said.clone(), lines.join("\n"));
                // The one argument with a line end in it, which the transcript shows as it is.
                if said.ends_with("--description a") && text.starts_with("b\n") {
                    said = said.replace("--description a", "--description $'a\\nb'");
                    text = text[2..].to_string();
                }
                steps.push(Step { command: said, text, exit });
                command = None;
            }
            _ => lines.push(line),
        }
    }
    steps
}

/// What is not the tools' own, and what is another every time.
fn normal(text: &str) -> String {
    let dropped = [
        "Statement unlikely to be reached",
        "\t(Maybe you meant system()",
        "Use of uninitialized value",
        "ORACLE-STUB",
    ];
    let replaced = [
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<time>"),
        (r"UPID:[^ ]+:", "<upid>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
        (r"BC:24:11(:[0-9A-F]{2}){3}", "<mac>"),
        (r"ctime=\d+", "ctime=<time>"),
        (r"creation-qemu=[0-9.]+", "creation-qemu=<version>"),
        (r"[0-9a-f]{40}", "<digest>"),
        (r"([0-9A-F]{2}:){31}[0-9A-F]{2}", "<fingerprint>"),
        (r"(stopped|running) +(\d+ +\d+\.\d\d) \d+ *", "$1 $2 <pid>"),
        (r"( +\d+){3} +\d+\.\d\d%", " <kib> <%>"),
        (r"\x1b?\[\d+m", ""),
        (r"[ ]+\n", "\n"),
    ];
    let mut text: String = text
        .lines()
        .filter(|line| !dropped.iter().any(|drop| line.starts_with(drop)))
        .map(|line| format!("{line}\n"))
        .collect();
    for (pattern, with) in replaced {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, with).into_owned();
    }
    // Perl's hashes come in any order: so do the lines of several errors.
    let mut lines: Vec<&str> = text.trim_end().lines().collect();
    lines.dedup();
    if lines.iter().any(|line| line.starts_with("400 ") || line.starts_with("+-") || line.starts_with("USAGE: ")) {
        lines.sort_unstable();
    }
    lines.join("\n")
}

#[derive(Deserialize)]
struct Exceptions {
    #[serde(default)]
    exception: Vec<Exception>,
    #[serde(default)]
    not_evidence: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    /// The command, and which of those that look the same (from 1).
    command: String,
    #[serde(default = "one")]
    number: usize,
    reason: String,
}

fn one() -> usize {
    1
}

#[tokio::test]
async fn recorded_commands_are_answered_as_recorded() {
    if !confined("the replay") {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "where the recording lies stands in the environment")]
    let facts = std::env::var("PVE_FACTS").ok();
    let whole =
        facts.and_then(|facts| std::fs::read_to_string(Path::new(&facts).join("oracle/cli-transcripts.txt")).ok());
    let steps = steps(whole.as_deref().unwrap_or(SAMPLE));
    let exceptions: Exceptions = toml::from_str(EXCEPTIONS).expect("the list of exceptions");
    let listed = || exceptions.exception.iter().chain(&exceptions.not_evidence);
    let excused: BTreeSet<(String, usize)> = listed().map(|e| (e.command.clone(), e.number)).collect();
    let nothing: BTreeSet<(String, usize)> =
        exceptions.not_evidence.iter().map(|e| (e.command.clone(), e.number)).collect();

    let place = Place::with(Scenario { world: world() }, |builder| builder).await;
    // The token that the fake itself adds was not there.
    place.pve.world(|world| world.access.config.users.get_mut("root@pam").map(|user| user.tokens.remove("ci")));
    let root = place.root().await;
    let (mut seen, mut same, mut counted, mut board) = (BTreeMap::<String, usize>::new(), 0, 0, String::new());
    let (mut unexpected, mut stale) = (Vec::new(), Vec::new());
    for step in &steps {
        let number = seen.entry(step.command.clone()).and_modify(|n| *n += 1).or_insert(1);
        let said = root.run(&format!("{} 2>&1 </dev/null", step.command)).await;
        let (wanted, got) = (normal(&step.text), normal(&said.out));
        let equal = wanted == got && said.status == Some(step.exit);
        let name = (step.command.clone(), *number);
        same += usize::from(equal);
        counted += usize::from(!nothing.contains(&name));
        match (equal, excused.contains(&name)) {
            (true, true) => stale.push(name),
            (false, false) => {
                let _written = writeln!(
                    board,
                    "=== {} ({number})\n--- recorded, exit {}\n{wanted}\n--- got, exit {:?}\n{got}\n",
                    step.command, step.exit, said.status
                );
                unexpected.push(name);
            }
            _ => {}
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("cli-replay.txt"), &board).expect("the scoreboard");
    println!("{same} of {counted} recorded commands answered as recorded");
    assert_eq!(unexpected, Vec::new(), "see {}/cli-replay.txt", folder.display());
    assert_eq!(stale, Vec::new(), "these are answered as recorded: take them off the list");
    assert!(listed().all(|exception| exception.reason.len() > 10), "every exception has a reason");
    assert!(whole.is_none() || same * 100 >= SHARE * counted, "{same} of {counted}");
}
