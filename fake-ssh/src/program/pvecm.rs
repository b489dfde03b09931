//! `pvecm`: the cluster itself.

use serde_json::{Map, Value};

use super::Call;
use crate::cli::command::{Command, Does, Program, Shows};
use crate::cli::{Failure, text};

use Does::{Api, Own};
use Shows::Nothing;

type Given = Map<String, Value>;

/// Its commands.
pub(crate) const PVECM: Program = Program { name: "pvecm", commands: COMMANDS };

const fn command(words: &'static str, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group: 1, does, args, shows }
}

const COMMANDS: &[Command] = &[
    command("delnode", Api("DELETE /cluster/config/nodes/{node}"), &["node"], Nothing),
    command("expected", Own(&[("expected", "i")], expected), &["expected"], Nothing),
    command("nodes", Own(&[], nodes), &[], Nothing),
    command("status", Own(&[], status), &[], Nothing),
];

/// Number, address, name, and whether it is this one, of every node that is there.
fn members(call: &Call) -> Result<Vec<(u64, String, String, bool)>, Failure> {
    let found = call.get("/cluster/status")?;
    let mut rows: Vec<(u64, String, String, bool)> = found
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row["type"] == "node" && row["online"] == 1)
        .map(|row| {
            let name = text(&row["name"]);
            let here = name == call.node.name;
            (row["nodeid"].as_u64().unwrap_or(0), text(&row["ip"]), name, here)
        })
        .collect();
    rows.sort();
    Ok(rows)
}

fn total(call: &Call) -> usize {
    call.site.direct.world(|world| world.nodes.len())
}

fn clustered(call: &Call) -> Result<String, Failure> {
    let missing = "Error: Corosync config '/etc/pve/corosync.conf' does not exist - is this node part of a cluster?";
    call.site.direct.world(|world| world.cluster.clone()).ok_or_else(|| Failure::die(missing))
}

fn status(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let name = clustered(call)?;
    let members = members(call)?;
    let version =
        call.get("/cluster/status")?.as_array().into_iter().flatten().find_map(|row| row.get("version").map(text));
    let (all, votes) = (total(call), members.len());
    let quorum = all / 2 + 1;
    let mut out = format!(
        "Cluster information\n-------------------\nName:             {name}\nConfig Version:   {}\n\
Transport:        knet\nSecure auth:      on\n\n\
Quorum information\n------------------\nNodes:            {votes}\nQuorate:          {}\n\n\
Votequorum information\n----------------------\nExpected votes:   {all}\nHighest expected: {all}\n\
Total votes:      {votes}\nQuorum:           {quorum}  \nFlags:            {}\n\n\
Membership information\n----------------------\n    Nodeid      Votes Name\n",
        version.unwrap_or_else(|| "1".into()),
        if votes >= quorum { "Yes" } else { "No" },
        if votes >= quorum { "Quorate " } else { "" },
    );
    for (id, address, _, here) in members {
        out.push_str(&format!("0x{id:08x}          1 {address}{}\n", if here { " (local)" } else { "" }));
    }
    call.out(&out);
    Ok(0)
}

fn nodes(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    clustered(call)?;
    let mut out = "\nMembership information\n----------------------\n    Nodeid      Votes Name\n".to_string();
    for (id, _, name, here) in members(call)? {
        out.push_str(&format!("{id:>10}          1 {name}{}\n", if here { " (local)" } else { "" }));
    }
    call.out(&out);
    Ok(0)
}

fn expected(_: &mut Call, _: &Given) -> Result<i32, Failure> {
    Err(Failure::die("'pvecm expected' is not part of this rehearsal"))
}
