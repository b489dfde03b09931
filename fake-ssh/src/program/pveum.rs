//! `pveum`: users, groups, roles, permissions.

use serde_json::{Map, Value, json};

use super::{Call, guest};
use crate::cli::command::{Command, Does, Program, Shows};
use crate::cli::output;
use crate::cli::table::{Column, draw};
use crate::cli::{Failure, text};

use Does::{Api, Own};
use Shows::{Nothing, Table, Task};

type Given = Map<String, Value>;

/// Its commands, in the order in which its usage shows them.
pub(crate) const PVEUM: Program = Program { name: "pveum", commands: COMMANDS };

const fn command(words: &'static str, group: u8, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group, does, args, shows }
}

const TOKEN: &[&str] = &["userid", "tokenid"];
const ACL_DELETE: &[(&str, &str)] =
    &[("path", "s"), ("groups", "s?"), ("propagate", "b?"), ("roles", "s"), ("tokens", "s?"), ("users", "s?")];
const TOKEN_PERMISSIONS: &[(&str, &str)] =
    &[("userid", "s"), ("tokenid", "s"), ("path", "s?"), ("output-format", "s?")];
const USER_LIST: &[(&str, &str)] = &[("enabled", "b?"), ("full", "b?"), ("output-format", "s?")];

const COMMANDS: &[Command] = &[
    command("acl delete", 1, Own(ACL_DELETE, acl_delete), &["path"], Nothing),
    command("acl list", 1, Api("GET /access/acl"), &[], Table(&[])),
    command("acl modify", 1, Api("PUT /access/acl"), &["path"], Nothing),
    command("group add", 2, Api("POST /access/groups"), &["groupid"], Nothing),
    command("group delete", 2, Api("DELETE /access/groups/{groupid}"), &["groupid"], Nothing),
    command("group list", 2, Api("GET /access/groups"), &[], Table(&[])),
    command("group modify", 2, Api("PUT /access/groups/{groupid}"), &["groupid"], Nothing),
    command("pool add", 3, Api("POST /pools"), &["poolid"], Nothing),
    command("pool delete", 3, Api("DELETE /pools"), &["poolid"], Nothing),
    command("pool list", 3, Api("GET /pools"), &[], Table(&["poolid", "comment", "members"])),
    command("pool modify", 3, Api("PUT /pools"), &["poolid"], Nothing),
    command("realm add", 4, Api("POST /access/domains"), &["realm"], Nothing),
    command("realm delete", 4, Api("DELETE /access/domains/{realm}"), &["realm"], Nothing),
    command("realm list", 4, Api("GET /access/domains"), &[], Table(&["realm", "type", "comment", "tfa"])),
    command("realm modify", 4, Api("PUT /access/domains/{realm}"), &["realm"], Nothing),
    command("realm sync", 4, Api("POST /access/domains/{realm}/sync"), &["realm"], Task),
    command("role add", 5, Api("POST /access/roles"), &["roleid"], Nothing),
    command("role delete", 5, Api("DELETE /access/roles/{roleid}"), &["roleid"], Nothing),
    command("role list", 5, Api("GET /access/roles"), &[], Table(&[])),
    command("role modify", 5, Api("PUT /access/roles/{roleid}"), &["roleid"], Nothing),
    command("user tfa unlock", 6, Api("PUT /access/users/{userid}/unlock-tfa"), &["userid"], Nothing),
    command("user tfa delete", 6, Own(&[("userid", "s"), ("id", "s?")], tfa_delete), &["userid"], Nothing),
    command("user tfa list", 6, Own(&[("userid", "s?")], tfa_list), &["userid"], Nothing),
    command("user token add", 6, Api("POST /access/users/{userid}/token/{tokenid}"), TOKEN, Table(&[])),
    command("user token delete", 6, Api("DELETE /access/users/{userid}/token/{tokenid}"), TOKEN, Table(&[])),
    command("user token list", 6, Api("GET /access/users/{userid}/token"), &["userid"], Table(&[])),
    command("user token modify", 6, Api("PUT /access/users/{userid}/token/{tokenid}"), TOKEN, Table(&[])),
    command("user token permissions", 6, Own(TOKEN_PERMISSIONS, token_permissions), TOKEN, Nothing),
    command(
        "user permissions",
        6,
        Own(&[("userid", "s?"), ("path", "s?"), ("output-format", "s?")], permissions),
        &["userid"],
        Nothing,
    ),
    command("user add", 6, Api("POST /access/users"), &["userid"], Nothing),
    command("user delete", 6, Api("DELETE /access/users/{userid}"), &["userid"], Nothing),
    command("user list", 6, Own(USER_LIST, user_list), &[], Nothing),
    command("user modify", 6, Api("PUT /access/users/{userid}"), &["userid"], Nothing),
    command("passwd", 7, Own(&[("userid", "s"), ("confirmation-password", "s?")], passwd), &["userid"], Nothing),
    command("ticket", 7, Own(&[("username", "s"), ("otp", "s?")], ticket), &["username"], Nothing),
    // Second names.
    command("user token remove", 0, Api("DELETE /access/users/{userid}/token/{tokenid}"), TOKEN, Table(&[])),
    command("useradd", 0, Api("POST /access/users"), &["userid"], Nothing),
    command("usermod", 0, Api("PUT /access/users/{userid}"), &["userid"], Nothing),
    command("userdel", 0, Api("DELETE /access/users/{userid}"), &["userid"], Nothing),
    command("groupadd", 0, Api("POST /access/groups"), &["groupid"], Nothing),
    command("groupmod", 0, Api("PUT /access/groups/{groupid}"), &["groupid"], Nothing),
    command("groupdel", 0, Api("DELETE /access/groups/{groupid}"), &["groupid"], Nothing),
    command("roleadd", 0, Api("POST /access/roles"), &["roleid"], Nothing),
    command("rolemod", 0, Api("PUT /access/roles/{roleid}"), &["roleid"], Nothing),
    command("roledel", 0, Api("DELETE /access/roles/{roleid}"), &["roleid"], Nothing),
    command("aclmod", 0, Api("PUT /access/acl"), &["path"], Nothing),
    command("acldel", 0, Own(ACL_DELETE, acl_delete), &["path"], Nothing),
];

fn acl_delete(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = given.clone();
    params.insert("delete".into(), "1".into());
    call.api("PUT", "/access/acl", params)?;
    Ok(0)
}

fn tfa_delete(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let user = text(&given["userid"]);
    let ids: Vec<String> = match given.get("id") {
        Some(id) => vec![text(id)],
        None => {
            let found = call.get(&format!("/access/tfa/{user}"))?;
            found.as_array().into_iter().flatten().map(|entry| text(&entry["id"])).collect()
        }
    };
    for id in ids {
        call.api("DELETE", &format!("/access/tfa/{user}/{id}"), Given::new())?;
    }
    Ok(0)
}

fn tfa_list(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = match given.get("userid") {
        Some(user) => json!([{"userid": user, "entries": call.get(&format!("/access/tfa/{}", text(user)))?}]),
        None => call.get("/access/tfa")?,
    };
    let mut out = String::new();
    for user in found.as_array().into_iter().flatten() {
        let entries = user["entries"].as_array().cloned().unwrap_or_default();
        if !entries.is_empty() {
            out.push_str(&format!("{}:\n", text(&user["userid"])));
        }
        for entry in entries {
            out.push_str(&format!(
                "  {}: {} {}\n",
                text(&entry["id"]),
                text(&entry["type"]),
                text(&entry["description"])
            ));
        }
    }
    call.out(&out);
    Ok(0)
}

fn token_permissions(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut given = given.clone();
    let token = given.remove("tokenid").map(|id| text(&id)).unwrap_or_default();
    let user = given.get("userid").map(text).unwrap_or_default();
    given.insert("userid".into(), format!("{user}!{token}").into());
    permissions(call, &given)
}

fn permissions(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = given.clone();
    let (look, format) = output::look(call, &mut params);
    let found = call.api("GET", "/access/permissions", params)?;
    if format != "text" {
        let text = output::print(&found, None, &[], look, &format);
        call.out(&text);
        return Ok(0);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (path, privileges) in found.as_object().into_iter().flatten() {
        let mut names: Vec<String> = privileges
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, spread)| if spread == 1 { format!("{name} (*)") } else { name.clone() })
            .collect();
        names.sort();
        rows.push(vec![path.clone(), names.join("\n")]);
    }
    rows.sort();
    let column = |title: &str| Column { key: String::new(), title: title.into(), right: false };
    let table = draw(&[column("ACL path"), column("Permissions")], &rows, look);
    call.out(&format!("{table}Permissions marked with '(*)' have the 'propagate' flag set.\n"));
    Ok(0)
}

fn user_list(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = given.clone();
    let (look, format) = output::look(call, &mut params);
    let found = call.api("GET", "/access/users", params)?;
    check_emails(&found)?;
    let method = pve_catalog::Catalog::embedded().get(pve_catalog::Verb::Get, "/access/users");
    let text = output::print(&found, method.map(|method| method.returns()), &[], look, &format);
    call.out(&text);
    Ok(0)
}

/// The real tool checks its own result, and a configured address that is none stops it.
fn check_emails(users: &Value) -> Result<(), Failure> {
    let mut rows: Vec<&Value> = users.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| text(&row["userid"]));
    let good = |email: &str| email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    for (at, row) in rows.iter().enumerate() {
        if let Some(email) = row.get("email").and_then(Value::as_str).filter(|email| !email.is_empty() && !good(email))
        {
            let _wrong = email;
            let text = "invalid format - value does not look like a valid email address\n";
            let errors = [(format!("[{at}].email"), text.to_string())].into();
            return Err(Failure { status: 400, message: "Result verification failed".into(), errors });
        }
    }
    Ok(())
}

fn passwd(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let password = guest::new_password(call)?;
    let params =
        Given::from_iter([("userid".to_string(), given["userid"].clone()), ("password".to_string(), password.into())]);
    call.api("PUT", "/access/password", params)?;
    Ok(0)
}

fn ticket(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let password = guest::password(call)?;
    let mut params = given.clone();
    params.insert("password".into(), password.into());
    let found = call.api("POST", "/access/ticket", params)?;
    call.out(&format!("{}\n", text(&found["ticket"])));
    Ok(0)
}
