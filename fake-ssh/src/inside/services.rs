//! Services of a container: `systemctl`, `journalctl`, and OpenRC's tools. What is started runs, as far as anybody can ask.

mod openrc;
mod systemd;

use super::state::{self, has, out};
use openrc::{rc_service, rc_update};
use systemd::{journalctl, systemctl};

/// Does what a service manager is asked for; its exit status, or nothing when the name is none of them.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    Some(match name {
        "systemctl" => systemctl(args),
        "journalctl" => journalctl(args),
        "rc-service" => rc_service(args),
        "rc-update" => rc_update(args),
        "rc-status" => {
            out("Runlevel: default\n");
            for (service, _) in state::read("enabled") {
                let word = if has("active", &service) { "started" } else { "stopped" };
                out(&format!(" {service:<55} [  {word}  ]\n"));
            }
            0
        }
        _ => return None,
    })
}

/// A unit without its kind; `sshd` is Debian's `ssh`.
fn unit(name: &str) -> String {
    let plain = name.strip_suffix(".service").unwrap_or(name);
    let alias = plain == "sshd" && !has("services", "sshd") && has("services", "ssh");
    if alias { "ssh".into() } else { plain.into() }
}

fn words(args: &[String]) -> (Vec<&str>, Vec<&str>) {
    args.iter().map(String::as_str).partition(|arg| arg.starts_with('-') && arg.len() > 1)
}

fn start(service: &str) {
    state::set("active", service, "");
    state::log(service, "Started.");
}

fn stop(service: &str) {
    state::unset("active", service);
    state::log(service, "Stopped.");
}
