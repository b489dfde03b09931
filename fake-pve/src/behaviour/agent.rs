//! `/nodes/{node}/qemu/{vmid}/agent`: what a machine's guest agent is asked.
//!
//! Every call looks at the same things first, each with its own refusal: the machine's configuration, whether it names
//! an agent, whether the machine runs, whether the agent answers. What the agent itself refuses comes back inside
//! `result` for plain commands, and as an error for files, programs and passwords.

mod command;
mod exec;
mod file;
mod line;
mod program;

use serde_json::{Value, json};

use super::status::Target;
use super::{Answer, Call, Data, Failure};
use crate::world::{Guest, GuestStatus};

pub(crate) use exec::{exec, status as exec_status};
pub(crate) use file::{read as file_read, write as file_write};

/// What a frozen agent still does.
const WHILE_FROZEN: [&str; 5] = ["ping", "info", "fsfreeze-status", "fsfreeze-thaw", "fsfreeze-freeze"];

/// A machine whose agent answers, and the command is one that it would answer.
fn awake<'c>(call: &'c Call<'_>, command: &str) -> Result<&'c Guest, Failure> {
    let guest = Target::of(call).guest(call.world)?;
    let vmid = guest.vmid;
    if guest.option("agent").is_none() {
        return Err(Failure::die("No QEMU guest agent configured"));
    }
    if !guest.runs() {
        return Err(Failure::die(format!("VM {vmid} is not running")));
    }
    let answers = guest.agent_enabled() && guest.agent.running && guest.status == GuestStatus::Running;
    if !answers || guest.agent.hangs.contains("ping") {
        return Err(Failure::die("QEMU guest agent is not running"));
    }
    if guest.agent.hangs.contains(command) {
        return Err(Failure::die(format!("VM {vmid} qga command 'guest-{command}' failed - got timeout")));
    }
    Ok(guest)
}

/// Why a frozen agent refuses, in its own words.
fn frozen(guest: &Guest, command: &str) -> Option<String> {
    let refused = guest.agent.frozen && !WHILE_FROZEN.contains(&command);
    refused.then(|| format!("Command guest-{command} has been disabled: the agent is in frozen state"))
}

/// An error of the agent as the API's error.
fn agent_error(text: &str) -> Failure {
    Failure::die(format!("Agent error: {text}"))
}

/// `POST …/agent`: a command by name.
pub(crate) fn by_name(call: &mut Call<'_>) -> Answer {
    let command = call.params.text("command");
    run(call, &command)
}

/// `GET` and `POST …/agent/{command}` of plain commands: the command is the last part of the path.
pub(crate) fn plain(call: &mut Call<'_>) -> Answer {
    let command = call.method.path.rsplit('/').next().unwrap_or_default();
    run(call, command)
}

/// Runs a plain command; what the agent says stands in `result`.
fn run(call: &mut Call<'_>, command: &str) -> Answer {
    let guest = awake(call, command)?;
    let refused = frozen(guest, command);
    let result = match refused {
        Some(text) => error(&text),
        None => match guest.agent.answers.get(command) {
            Some(answer) => answer.clone(),
            None => command::run(call, command),
        },
    };
    Ok(json!({"result": result}).into())
}

/// A refusal of the agent inside `result`.
fn error(text: &str) -> Value {
    json!({"error": {"class": "GenericError", "desc": text}})
}

/// `POST …/agent/set-user-password`: for users that the guest has.
pub(crate) fn set_password(call: &mut Call<'_>) -> Answer {
    let guest = awake(call, "set-user-password")?;
    if let Some(text) = frozen(guest, "set-user-password") {
        return Err(agent_error(&text));
    }
    let (vmid, user) = (guest.vmid, call.params.text("username"));
    let crypted = call.params.is_on("crypted");
    if !known_users(guest).contains(&user) {
        return Err(agent_error("child process has failed to set user password"));
    }
    let password = call.params.text("password");
    if crypted && !password.starts_with('$') {
        return Err(agent_error("child process has failed to set user password"));
    }
    if let Some(guest) = call.world.guests.get_mut(&vmid) {
        guest.agent.passwords.insert(user, password);
    }
    Ok(Data::from(json!({"result": {}})))
}

/// Users of the guest: those of its image, of cloud-init, of `/etc/passwd` when that was written, and those whose
/// password was set before.
fn known_users(guest: &Guest) -> Vec<String> {
    let mut users: Vec<String> = ["root", "debian", "ubuntu", "Administrator"].map(str::to_string).into();
    users.extend(guest.option("ciuser"));
    users.extend(guest.agent.passwords.keys().cloned());
    let file = guest.agent.files.get("/etc/passwd").map(String::as_str).unwrap_or_default();
    users.extend(file.lines().filter_map(|line| line.split_once(':').map(|(user, _)| user.to_string())));
    users
}
