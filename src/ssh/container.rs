//! What `pct` says when it does not get as far as the container.

use super::clean::clean;
use super::output::{End, Output};
use crate::error::{Code, Fault};

/// The fault behind an output that `pct exec` itself wrote; `None` when the command ran in the container, whatever it made
/// of it. A program in the container that writes the very same words is taken for `pct`: nothing depends on it.
pub(super) fn refusal(vmid: u32, output: &Output) -> Option<Fault> {
    if matches!(output.end, End::Exit(0) | End::Signal(_)) || !output.stdout.is_empty() {
        return None;
    }
    let said = clean(&output.stderr);
    let says = |line: &str| said.lines().any(|said| said.trim_end() == line);
    if says(&format!("container '{vmid}' not running!")) {
        let fault = Fault::new(Code::GuestNotRunning, format!("container {vmid} does not run"));
        return Some(fault.hint("start it first"));
    }
    if let Some(lock) = said.lines().find_map(|line| line.trim_end().strip_prefix("CT is locked (")?.strip_suffix(')'))
    {
        let fault = Fault::new(Code::GuestLocked, format!("container {vmid} is locked ({lock})"));
        return Some(fault.hint("another operation is under way: wait for it, and do not unlock it by force"));
    }
    let missing = |line: &str| {
        line.starts_with("Configuration file '") && line.ends_with(&format!("/lxc/{vmid}.conf' does not exist"))
    };
    if said.lines().any(|line| missing(line.trim_end())) {
        let fault = Fault::new(Code::NotFound, format!("there is no container {vmid} on this node"));
        return Some(fault.hint("look where it is: it may just have been migrated"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(stdout: &str, stderr: &str, status: u32) -> Option<Code> {
        let output = Output::ended(stdout, stderr, status);
        refusal(101, &output).map(|fault| fault.code)
    }

    #[test]
    fn refusals_of_pct_are_told_from_failures_inside() {
        assert_eq!(code("", "container '101' not running!\n", 255), Some(Code::GuestNotRunning));
        assert_eq!(code("", "CT is locked (backup)\n", 255), Some(Code::GuestLocked));
        let missing = "Configuration file 'nodes/pve1/lxc/101.conf' does not exist\n";
        assert_eq!(code("", missing, 2), Some(Code::NotFound));
        assert_eq!(
            code("", "perl: warning: Setting locale failed.\ncontainer '101' not running!\n", 255),
            Some(Code::GuestNotRunning)
        );
        assert_eq!(code("", "container '102' not running!\n", 255), None, "another one");
        assert_eq!(code("", "container '101' not running!\n", 0), None);
        assert_eq!(code("out", "CT is locked (backup)\n", 1), None, "something ran");
        assert_eq!(code("", "ls: cannot access 'x'\n", 2), None);
    }
}
