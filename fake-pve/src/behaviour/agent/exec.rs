//! `…/agent/exec` and `…/agent/exec-status`: programs in the guest.

use std::time::Duration;

use serde_json::{Value, json};

use super::{agent_error, awake, frozen, program};
use crate::behaviour::params::scalar;
use crate::behaviour::{Answer, Call, Failure};

/// Most bytes of output that the agent keeps.
const MOST_OUTPUT: usize = 16 << 20;

/// How long a program takes at least.
const TAKES: Duration = Duration::from_millis(150);

/// `POST …/agent/exec`.
pub(crate) fn exec(call: &mut Call<'_>) -> Answer {
    let input = call.params.get("input-data");
    if input.as_ref().is_some_and(|input| input.chars().any(|c| c as u32 > 0xff)) {
        let at = "subroutine entry at /usr/share/perl5/PVE/QemuServer/Agent.pm line 135.";
        return Err(Failure::die(format!("Wide character in {at}")));
    }
    let command = words(call);
    let guest = awake(call, "exec")?;
    let vmid = guest.vmid;
    if command.is_empty() && input.is_none() {
        return Err(Failure::die("command or input-data (or both) required"));
    }
    if let Some(text) = frozen(guest, "exec") {
        return Err(agent_error(&text));
    }
    let now = call.now();
    let ended = program::run(guest, now, &command, input.as_deref().unwrap_or_default());
    let Some(ended) = ended else {
        let program = command.first().map(String::as_str).unwrap_or_default();
        let why = format!("Failed to execute child process “{program}” (No such file or directory)");
        return Err(agent_error(&format!("Guest agent command failed, error was '{why}'")));
    };
    let takes = i64::try_from((TAKES + ended.slept).as_millis()).unwrap_or(i64::MAX / 2);
    let ends_ms = call.now_ms().saturating_add(takes);
    let pid = call.world.next_pid();
    if let Some(guest) = call.world.guests.get_mut(&vmid) {
        guest.agent.files.extend(ended.written);
        let process = json!({
            "ends_ms": ends_ms, "asked": 0, "exitcode": ended.code, "out-data": ended.out, "err-data": ended.err,
        });
        guest.agent.processes.insert(pid, process);
    }
    Ok(json!({"pid": pid}).into())
}

/// The program and its arguments: repeated keys or a JSON array; a lone text is a program's name, spaces and all.
fn words(call: &Call<'_>) -> Vec<String> {
    match call.params.0.get("command") {
        Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
        Some(other) => scalar(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// `GET …/agent/exec-status`: a result can be fetched once.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let guest = awake(call, "exec-status")?;
    if let Some(text) = frozen(guest, "exec-status") {
        return Err(agent_error(&text));
    }
    let (vmid, pid) = (guest.vmid, call.params.int("pid").and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0));
    let Some(process) = guest.agent.processes.get(&pid).cloned() else {
        return Err(agent_error(&format!("PID {} does not exist", call.params.text("pid"))));
    };
    let ends_ms = process["ends_ms"].as_i64().unwrap_or(0);
    if process["asked"] != 0 {
        // Somebody waits: in automatic time the program comes to its end.
        call.look_at_moment(ends_ms);
    }
    let now_ms = call.now_ms();
    let Some(guest) = call.world.guests.get_mut(&vmid) else { return Err(agent_error("no guest")) };
    if now_ms < ends_ms {
        if let Some(process) = guest.agent.processes.get_mut(&pid) {
            process["asked"] = json!(1);
        }
        return Ok(json!({"exited": 0}).into());
    }
    guest.agent.processes.remove(&pid);
    Ok(finished(&process).into())
}

/// Exit code and output; output that is not there is left out.
fn finished(process: &Value) -> Value {
    let mut answer = json!({"exited": 1, "exitcode": process["exitcode"]});
    for (name, truncated) in [("out-data", "out-truncated"), ("err-data", "err-truncated")] {
        let text = process[name].as_str().unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        let cut = text.char_indices().map(|(at, _)| at).find(|at| *at >= MOST_OUTPUT);
        answer[name] = json!(&text[..cut.unwrap_or(text.len())]);
        if cut.is_some() {
            answer[truncated] = json!(1);
        }
    }
    answer
}
