//! Security groups: rules that other rules name. Their own rules are in [`super::rules`].

use serde_json::{Map, Value, json};

use super::{CLUSTER_FILE, Scope, digest_of, keep, no_such_group, of_file, text, with_digest};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::firewall::Group;

/// `GET /cluster/firewall/groups`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let groups: Vec<_> = of_file(call.world, CLUSTER_FILE).groups.iter().map(shown).collect();
    let digest = digest_of(&groups);
    Ok(Data::from(groups.into_iter().map(|group| with_digest(group, &digest)).collect::<Vec<_>>()))
}

/// `POST /cluster/firewall/groups`: makes a group, or renames one and every rule that names it.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let groups = &mut scope.firewall.groups;
    let name = call.params.text("group");
    let old = call.params.get("rename");
    let refuse = |text: String| Err(Failure::param("group", text));
    if let Some(old) = &old
        && groups.iter().all(|group| group.name != *old)
    {
        return refuse(format!("Security group '{old}' does not exist"));
    }
    if old.as_ref() != Some(&name) && groups.iter().any(|group| group.name == name) {
        return refuse(format!("Security group '{name}' already exists"));
    }
    let at = groups.iter().position(|group| Some(&group.name) == old.as_ref());
    let mut group = at.map(|at| groups.remove(at)).unwrap_or_default();
    group.name.clone_from(&name);
    if let Some(comment) = call.params.get("comment") {
        group.comment = Some(comment).filter(|comment| !comment.is_empty());
    }
    groups.push(group);
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    scope.save(call);
    if let Some(old) = old {
        rename_rules(call, &old, &name);
    }
    Ok(Data::null())
}

/// `DELETE /cluster/firewall/groups/{group}`: only without rules. Rules elsewhere that name it stay.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let mut firewall = of_file(call.world, CLUSTER_FILE);
    let name = call.params.text("group");
    let group = firewall.groups.iter().find(|group| group.name == name).ok_or_else(|| no_such_group(&name))?;
    if !group.rules.is_empty() {
        return Err(Failure::die(format!("Security group '{name}' is not empty")));
    }
    firewall.groups.retain(|group| group.name != name);
    keep(call.world, CLUSTER_FILE, firewall);
    Ok(Data::null())
}

fn shown(group: &Group) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("group".into(), json!(group.name));
    if let Some(comment) = &group.comment {
        shown.insert("comment".into(), json!(comment));
    }
    shown
}

fn rename_rules(call: &mut Call<'_>, old: &str, new: &str) {
    let rules = call.world.firewalls.values_mut().flat_map(|firewall| firewall.rules.iter_mut());
    for rule in rules.filter(|rule| text(rule, "type") == "group" && text(rule, "action") == old) {
        rule.insert("action".into(), json!(new));
    }
}
