//! OpenRC's tools.

use super::{start, stop, words};
use crate::inside::state::{self, err, has, out};

pub(super) fn rc_service(args: &[String]) -> u8 {
    let (options, words) = words(args);
    if options.contains(&"-l") || options.contains(&"--list") {
        state::read("services").iter().for_each(|(service, _)| out(&format!("{service}\n")));
        return 0;
    }
    let Some(service) = words.first() else { return 1 };
    if options.contains(&"-e") || options.contains(&"--exists") {
        return u8::from(!has("services", service));
    }
    if !has("services", service) {
        err(&format!(" * rc-service: service `{service}' does not exist\n"));
        return 1;
    }
    match (words.get(1).copied(), has("active", service)) {
        (Some("status"), true) => out(" * status: started\n"),
        (Some("status"), false) => {
            out(" * status: stopped\n");
            return 3;
        }
        (Some("start"), true) => err(&format!(" * WARNING: {service} has already been started\n")),
        (Some("start" | "restart"), _) => {
            out(&format!(" * Starting {service} ... [ ok ]\n"));
            start(service);
        }
        (Some("stop"), true) => {
            out(&format!(" * Stopping {service} ... [ ok ]\n"));
            stop(service);
        }
        (Some("stop"), false) => err(&format!(" * WARNING: {service} is already stopped\n")),
        (Some("reload"), true) => state::log(service, "Reloaded."),
        (Some(other), _) => {
            err(&format!(" * {service}: unknown function `{other}'\n"));
            return 1;
        }
        (None, _) => return 1,
    }
    0
}

pub(super) fn rc_update(args: &[String]) -> u8 {
    let (_, words) = words(args);
    match words.as_slice() {
        [] | ["show", ..] => {
            state::read("enabled").iter().for_each(|(service, _)| out(&format!("{service:>20} | default\n")));
            0
        }
        ["add", service, ..] if !has("services", service) => {
            err(&format!(" * rc-update: service `{service}' does not exist\n"));
            1
        }
        ["add", service, ..] if has("enabled", service) => {
            out(&format!(" * rc-update: {service} already installed in runlevel `default'; skipping\n"));
            0
        }
        ["add", service, ..] => {
            state::set("enabled", service, "");
            out(&format!(" * service {service} added to runlevel default\n"));
            0
        }
        ["del" | "delete", service, ..] if !has("enabled", service) => {
            err(&format!(" * rc-update: service `{service}' is not in the runlevel `default'\n"));
            1
        }
        ["del" | "delete", service, ..] => {
            state::unset("enabled", service);
            out(&format!(" * service {service} removed from runlevel default\n"));
            0
        }
        _ => 1,
    }
}
