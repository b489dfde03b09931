//! `POST /access/domains/{realm}/sync`: users and groups of a directory server become those of the realm.

use std::time::Duration;

use pve_catalog::permission::User;
use serde_json::{Map, Value};

use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::access::{Access, Directory};

/// What a synchronisation does, from the call and the defaults of the realm.
struct Options {
    users: bool,
    groups: bool,
    enable_new: bool,
    remove_entry: bool,
    remove_properties: bool,
    remove_acl: bool,
    dry_run: bool,
}

/// Starts the task, `auth-realm-sync` or `auth-realm-sync-test`.
pub(crate) fn sync(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("realm");
    let Some(realm) = call.world.access.realm(&name) else {
        return Err(Failure::param("realm", "Realm does not exist."));
    };
    let kind = realm["type"].as_str().unwrap_or_default();
    if !["ad", "ldap"].contains(&kind) {
        return Err(Failure::die(format!("Cannot sync realm type '{kind}'! Only LDAP/AD realms can be synced.")));
    }
    let options = options(call, &realm)?;
    let what = match (options.users, options.groups) {
        (true, true) => "users and groups",
        (true, false) => "users",
        _ => "groups",
    };
    let worker_type = if options.dry_run { "auth-realm-sync-test" } else { "auth-realm-sync" };
    let start = if options.dry_run { "(dry test run) starting sync" } else { "starting sync" };
    let task =
        call.task(worker_type, &name).lasts(Duration::from_secs(2)).line(format!("{start} for realm {name}")).finish(
            move |run| {
                let Some(directory) = run.world.access.directories.get(&name).cloned() else {
                    return Err("IO::Socket::IP: connect: Connection refused".into());
                };
                run.log(format!("got data from server, updating {what}"));
                let mut access = run.world.access.clone();
                if options.users {
                    sync_users(run, &mut access, &name, &directory, &options);
                }
                if options.groups {
                    sync_groups(run, &mut access, &name, &directory, &options);
                }
                if options.dry_run {
                    run.log("\nNOTE: Dry test run, changes were NOT written to the configuration.");
                } else {
                    access.forget_empty();
                    run.world.access = access;
                    run.log(format!("successfully updated {what} configuration"));
                }
                Ok(())
            },
        );
    call.start(task)
}

fn options(call: &Call<'_>, realm: &Map<String, Value>) -> Result<Options, Failure> {
    let defaults = realm.get("sync-defaults-options").and_then(Value::as_str).unwrap_or_default();
    let default = |key: &str| {
        let mut parts = defaults.split(',').filter_map(|part| part.split_once('='));
        parts.find(|(name, _)| *name == key).map(|(_, value)| value.to_string())
    };
    let option = |key: &str| call.params.get(key).or_else(|| default(key));
    let text = "Not passed as parameter and not defined in realm default sync options.";
    let scope = option("scope").ok_or_else(|| Failure::param("scope", text))?;
    let on = |key: &str| option(key).is_some_and(|text| ["1", "yes", "on", "true"].contains(&text.as_str()));
    let vanished = option("remove-vanished").unwrap_or_default();
    let removes = |what: &str| vanished.split([';', ',']).any(|part| part == what);
    Ok(Options {
        users: scope != "groups",
        groups: scope != "users",
        enable_new: option("enable-new").is_none() || on("enable-new"),
        remove_entry: removes("entry") || on("full"),
        remove_properties: removes("properties") || on("full"),
        remove_acl: removes("acl") || on("purge"),
        dry_run: call.params.is_on("dry-run"),
    })
}

fn sync_users(run: &mut Run<'_>, access: &mut Access, realm: &str, directory: &Directory, options: &Options) {
    run.log("syncing users");
    let suffix = format!("@{realm}");
    let known: Vec<String> = access.config.users.keys().filter(|userid| userid.ends_with(&suffix)).cloned().collect();
    for userid in known.iter().filter(|userid| !directory.users.contains_key(userid.trim_end_matches(&suffix))) {
        if options.remove_entry {
            run.log(format!("remove user '{userid}'"));
            access.config.users.remove(userid);
            access.config.groups.values_mut().for_each(|group| {
                group.users.remove(userid);
            });
        }
        if options.remove_acl {
            run.log(format!("purging users '{userid}' ACL entries, if any"));
            access.config.acl.values_mut().for_each(|acl| {
                acl.users.remove(userid);
            });
        }
    }
    for (name, attributes) in &directory.users {
        let userid = format!("{name}{suffix}");
        let verb = if access.config.users.contains_key(&userid) { "updating" } else { "adding" };
        run.log(format!("{verb} user '{userid}'"));
        let fresh = || User { enable: options.enable_new, ..User::default() };
        let user = access.config.users.entry(userid).or_insert_with(fresh);
        let text = |key: &str| attributes.get(key).and_then(Value::as_str).map(str::to_string);
        let targets = [
            ("firstname", &mut user.firstname),
            ("lastname", &mut user.lastname),
            ("email", &mut user.email),
            ("comment", &mut user.comment),
        ];
        for (key, target) in targets {
            *target = text(key).or_else(|| target.take().filter(|_| !options.remove_properties));
        }
    }
}

/// Groups of a directory are called `<name>-<realm>`.
fn sync_groups(run: &mut Run<'_>, access: &mut Access, realm: &str, directory: &Directory, options: &Options) {
    run.log("syncing groups");
    let suffix = format!("-{realm}");
    let known: Vec<String> = access.config.groups.keys().filter(|name| name.ends_with(&suffix)).cloned().collect();
    for name in known.iter().filter(|name| !directory.groups.contains_key(name.trim_end_matches(&suffix))) {
        if options.remove_entry {
            run.log(format!("remove group '{name}'"));
            access.config.groups.remove(name);
        }
        if options.remove_acl {
            run.log(format!("purging groups '{name}' ACL entries, if any"));
            access.config.acl.values_mut().for_each(|acl| {
                acl.groups.remove(name);
            });
        }
    }
    for (name, members) in &directory.groups {
        let groupid = format!("{name}{suffix}");
        let verb = if access.config.groups.contains_key(&groupid) { "updating" } else { "adding" };
        run.log(format!("{verb} group '{groupid}'"));
        let userids = members.iter().map(|member| format!("{member}@{realm}"));
        let users = userids.filter(|userid| access.config.users.contains_key(userid)).collect();
        let group = access.config.groups.entry(groupid).or_default();
        group.users = users;
    }
}
