//! `/nodes/{node}/tasks` and `/cluster/tasks`.

use pve_catalog::upid::Upid;
use serde_json::{Map, Value, json};

use super::{Answer, Call, Data, Failure, Raw};
use crate::world::Task;

/// `GET /nodes/{node}/tasks`: newest first; running ones only when asked for.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let source = call.params.get("source").unwrap_or_else(|| "archive".into());
    let all = call.may(&format!("/nodes/{node}"), &["Sys.Audit"]);
    let wanted = |task: &&Task| {
        let by_source = match source.as_str() {
            "active" => task.running(),
            "all" => true,
            _ => !task.running(),
        };
        let visible = all || if task.running() { task.user == call.authid } else { is_own(&call.authid, task) };
        task.node == node && by_source && visible && passes_filters(call, task)
    };
    let mut found: Vec<&Task> = call.world.tasks.iter().rev().filter(wanted).collect();
    found.sort_by_key(|task| !task.running());
    let total = found.len();
    let start = usize::try_from(call.params.int("start").unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(call.params.int("limit").unwrap_or(50)).unwrap_or(50);
    let page: Vec<Value> = found.into_iter().skip(start).take(limit).map(list_item).collect();
    Ok(Data::from(page).with_total(total))
}

/// `GET /nodes/{node}/tasks/{upid}`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "log"}, {"name": "status"}]).into())
}

/// `GET /nodes/{node}/tasks/{upid}/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let parsed = parsed(call)?;
    task(call, &call.params.text("upid"))?;
    let upid = visible(call, &parsed, "Sys.Audit")?;
    call.look_at_task(&upid);
    let task = task(call, &upid)?;
    let (user, token) = task.user_and_token();
    let mut status = json!({
        "upid": task.upid, "node": task.node, "pid": task.pid, "pstart": task.pstart, "starttime": task.starttime,
        "type": task.worker_type, "id": task.id, "user": user,
        "status": if task.running() { "running" } else { "stopped" },
    });
    if let Some(token) = token {
        status["tokenid"] = json!(token);
    }
    if let Some(exitstatus) = &task.exitstatus {
        status["exitstatus"] = json!(exitstatus);
    }
    Ok(status.into())
}

/// `GET /nodes/{node}/tasks/{upid}/log`.
pub(crate) fn log(call: &mut Call<'_>) -> Answer {
    let parsed = parsed(call)?;
    let upid = visible(call, &parsed, "Sys.Audit")?;
    let paged = call.params.has("start") || call.params.has("limit");
    if call.params.is_on("download") && paged {
        return Err(Failure::die("'download' cannot be used together with 'start' or 'limit' parameters"));
    }
    call.look_at_task(&upid);
    let now_ms = call.now_ms();
    let Ok(task) = task(call, &upid) else { return no_log(call, &parsed) };
    let lines = task.log_at(now_ms);
    if call.params.is_on("download") {
        let when = jiff::Timestamp::from_second(task.starttime).unwrap_or_default();
        let name = format!("task-{}-{}-{when}.log", task.node, task.worker_type);
        return Ok(Data::raw(Raw {
            content_type: "text/plain",
            headers: vec![("content-disposition", format!("attachment; filename=\"{name}\""))],
            bytes: lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect(),
        }));
    }
    if lines.is_empty() {
        return Ok(Data::from(json!([{"n": 1, "t": "no content"}])).with_total(1));
    }
    let start = usize::try_from(call.params.int("start").unwrap_or(0)).unwrap_or(0);
    let limit = match call.params.int("limit").unwrap_or(50) {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(50),
    };
    let numbered = lines.iter().enumerate().skip(start).take(limit);
    let page: Vec<Value> = numbered.map(|(at, text)| json!({"n": at + 1, "t": text})).collect();
    Ok(Data::from(page).with_total(lines.len()))
}

/// `DELETE /nodes/{node}/tasks/{upid}`.
pub(crate) fn stop(call: &mut Call<'_>) -> Answer {
    let parsed = parsed(call)?;
    let upid = visible(call, &parsed, "Sys.Modify")?;
    task(call, &upid)?;
    call.stop_task(&upid);
    Ok(Data::null())
}

/// `GET /cluster/tasks`: running ones and up to 25 recent ones of each node.
pub(crate) fn of_cluster(call: &mut Call<'_>) -> Answer {
    let all = call.may("/", &["Sys.Audit"]);
    let token = call.authid.contains('!');
    let mut items = Vec::new();
    for node in call.world.nodes.keys() {
        let of_node = call.world.tasks.iter().rev().filter(|task| task.node == *node);
        let visible = of_node.filter(|task| all || (!token && is_own(&call.authid, task)));
        let (running, ended): (Vec<&Task>, Vec<&Task>) = visible.partition(|task| task.running());
        let newest = call.world.tasks.iter().rev().find(|task| task.node == *node).map(|task| task.upid.as_str());
        let shown = running.into_iter().chain(ended.into_iter().take(25));
        items.extend(shown.map(|task| cluster_item(task, newest == Some(task.upid.as_str()))));
    }
    Ok(Data::from(items))
}

fn task<'c>(call: &'c Call<'_>, upid: &str) -> Result<&'c Task, Failure> {
    let node = call.node();
    let found = call.world.tasks.iter().find(|task| task.upid == upid && task.node == node);
    found.ok_or_else(|| Failure::param("upid", "no such task"))
}

fn parsed(call: &Call<'_>) -> Result<Upid, Failure> {
    call.params.text("upid").parse().map_err(|_| Failure::param("upid", "unable to parse worker upid"))
}

/// The id of a task that may be seen: one's own, or by a privilege on the node. Whether it exists is another question.
fn visible(call: &Call<'_>, parsed: &Upid, privilege: &str) -> Result<String, Failure> {
    if !owns(&call.authid, &parsed.user) {
        call.require(&format!("/nodes/{}", call.node()), &[privilege])?;
    }
    Ok(call.params.text("upid"))
}

/// What is said of the log of a task that the node does not know: the file is not there.
fn no_log(call: &Call<'_>, parsed: &Upid) -> Answer {
    if call.params.is_on("download") {
        let folder = format!("{:X}", parsed.starttime % 16);
        let file = format!("/var/log/pve/tasks/{folder}/{}", call.params.text("upid"));
        return Err(Failure::die(format!("Could not open file '{file}' - No such file or directory")));
    }
    Ok(Data::from(json!([{"n": 1, "t": "unable to open file - No such file or directory"}])).with_total(1))
}

/// A user owns the tasks of his tokens too; a token owns only its own.
fn owns(authid: &str, owner: &str) -> bool {
    owner == authid || owner.strip_prefix(authid).is_some_and(|rest| rest.starts_with('!'))
}

fn is_own(authid: &str, task: &Task) -> bool {
    owns(authid, &task.user)
}

/// Proxmox's classes for `statusfilter`.
fn class(task: &Task) -> &'static str {
    match task.exitstatus.as_deref() {
        Some("OK") => "ok",
        Some(status) if status.starts_with("WARNINGS: ") => "warning",
        None | Some("unexpected status") => "unknown",
        Some(_) => "error",
    }
}

fn passes_filters(call: &Call<'_>, task: &Task) -> bool {
    let params = &call.params;
    let by_text = |name: &str, test: &dyn Fn(&str) -> bool| params.get(name).is_none_or(|wanted| test(&wanted));
    let statuses: Vec<String> = params.list("statusfilter").iter().map(|status| status.to_lowercase()).collect();
    let by_status = if params.is_on("errors") {
        class(task) != "ok"
    } else {
        statuses.is_empty() || statuses.iter().any(|status| status == class(task))
    };
    by_status
        && by_text("typefilter", &|wanted| task.worker_type == wanted)
        && by_text("userfilter", &|wanted| task.user.to_lowercase().contains(&wanted.to_lowercase()))
        && by_text("vmid", &|wanted| task.id == wanted)
        && params.int("since").is_none_or(|since| task.starttime >= since)
        && params.int("until").is_none_or(|until| task.starttime <= until)
}

fn list_item(task: &Task) -> Value {
    let mut item = common(task);
    item.insert("pid".into(), json!(task.pid));
    item.insert("pstart".into(), json!(task.pstart));
    if task.running() {
        item.shift_remove("tokenid");
        item.insert("user".into(), json!(task.user));
        item.insert("status".into(), json!("RUNNING"));
        item.insert("saved".into(), json!("0"));
    }
    Value::Object(item)
}

/// The newest task of a node was told as it ended; those before it were read from a file since, where numbers are text.
fn cluster_item(task: &Task, newest: bool) -> Value {
    let mut item = common(task);
    let saved = match (task.running(), newest) {
        (true, _) => json!("0"),
        (false, true) => json!(1),
        (false, false) => json!("1"),
    };
    item.insert("saved".into(), saved);
    if task.running() {
        item.insert("pid".into(), json!(task.pid));
    }
    Value::Object(item)
}

fn common(task: &Task) -> Map<String, Value> {
    let (user, token) = task.user_and_token();
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    set("upid", json!(task.upid));
    set("node", json!(task.node));
    set("starttime", json!(task.starttime));
    set("type", json!(task.worker_type));
    set("id", json!(task.id));
    set("user", json!(user));
    if let Some(token) = token {
        set("tokenid", json!(token));
    }
    if let Some(endtime) = task.endtime {
        set("endtime", json!(endtime));
    }
    if let Some(exitstatus) = &task.exitstatus {
        set("status", json!(exitstatus));
    }
    item
}
