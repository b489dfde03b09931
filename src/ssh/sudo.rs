//! What `sudo -n` says when it does not run the command.

use super::clean::clean;
use super::output::{End, Output};
use crate::error::{Code, Fault};

/// The fault behind an output that `sudo` itself wrote; `None` when the command ran. A command that writes the very same
/// words is taken for it: nothing depends on it.
pub(super) fn refusal(who: &str, output: &Output) -> Option<Fault> {
    let End::Exit(status @ (1 | 127)) = output.end else { return None };
    if !output.stdout.is_empty() {
        return None;
    }
    let said = clean(&output.stderr);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let (what, hint) = if status == 1 && last.starts_with("sudo: ") && last.contains("required") {
        ("sudo asks for a password there", "give the SSH user a NOPASSWD rule for sudo, or log in as root")
    } else if status == 1 && (last.contains("is not in the sudoers file") || last.contains("may not run sudo")) {
        ("the SSH user may not use sudo there", "give it a NOPASSWD rule for sudo, or log in as root")
    } else if status == 127 && last.contains("sudo: not found") {
        ("there is no sudo there", "install it, or log in as root and unset PROXMOX_SSH_SUDO")
    } else {
        return None;
    };
    Some(Fault::new(Code::Forbidden, format!("the command was not run on {who}: {what}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(stdout: &str, stderr: &str, status: u32) -> Option<Code> {
        let output = Output::ended(stdout, stderr, status);
        refusal("node pve1", &output).map(|fault| fault.code)
    }

    #[test]
    fn refusals_of_sudo_are_told_from_failures_of_commands() {
        assert_eq!(code("", "sudo: a password is required\n", 1), Some(Code::Forbidden));
        assert_eq!(code("", "mcp is not in the sudoers file.\n", 1), Some(Code::Forbidden));
        assert_eq!(code("", "sh: 1: exec: sudo: not found\n", 127), Some(Code::Forbidden));
        assert_eq!(code("", "sh: 1: exec: nosuch: not found\n", 127), None);
        assert_eq!(code("out", "sudo: a password is required\n", 1), None);
        assert_eq!(code("", "grep: x: No such file or directory\n", 2), None);
    }
}
