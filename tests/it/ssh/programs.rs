//! Programs that tests need and a machine may lack. A skip is printed and counted, and fails where `CI=true`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// Where a program is, if it is anywhere.
pub fn find(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin", "/usr/lib/openssh"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

/// Whether these programs are there; otherwise the test has to return.
#[expect(clippy::print_stdout, reason = "a test that did not run has to show")]
pub fn have(names: &[&str]) -> bool {
    let missing: Vec<&str> = names.iter().copied().filter(|name| find(name).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    println!("skipped ({count} so far): {} is not installed", missing.join(", "));
    #[expect(clippy::disallowed_methods, reason = "whether this is CI is no setting of the program")]
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "{} must be installed where CI=true", missing.join(", "));
    false
}

/// Runs a program to its end and gives its stdout.
pub fn run(name: &str, arguments: &[&str]) -> String {
    let program = find(name).unwrap_or_else(|| panic!("{name} was looked for"));
    let output = Command::new(program).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
