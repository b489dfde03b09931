//! Rules: new ones come first, positions count from 0, and a rule that is moved down lands before its target.

use pve_catalog::verify::parameter;
use serde_json::{Map, Value, json};

use super::verify::{Findings, verify};
use super::{Env, Scope, digest_of, of_file, text};
use crate::behaviour::params::scalar;
use crate::behaviour::{Answer, Call, Data, Failure};

/// What a rule is made of, as far as it is given as text.
const PROPERTIES: [&str; 13] = [
    "type",
    "action",
    "enable",
    "macro",
    "iface",
    "source",
    "dest",
    "proto",
    "sport",
    "dport",
    "log",
    "comment",
    "icmp-type",
];

/// `GET …/rules` and `GET /cluster/firewall/groups/{group}`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call)?;
    let shown = (0..scope.rules().len()).map(|at| Value::Object(shown(call, &scope, at, json!(at))));
    Ok(Data::from(shown.collect::<Vec<_>>()))
}

/// `GET …/rules/{pos}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call)?;
    let at = position(call, &scope)?;
    Ok(Value::Object(shown(call, &scope, at, json!(call.params.text("pos")))).into())
}

/// `POST …/rules` and `POST /cluster/firewall/groups/{group}`: a digest does not count here, as with everything new.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let mut rule = Map::new();
    rule.insert("enable".into(), json!(0));
    take_over(call, &mut rule);
    check(call, &scope, &mut rule)?;
    scope.rules_mut().insert(0, as_written(rule));
    scope.save(call);
    Ok(Data::null())
}

/// `PUT …/rules/{pos}`: a move when `moveto` says so (nothing else counts then), else a change.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    call.check_digest(&digest_of(scope.rules()))?;
    let at = written_position(call, &scope, 373)?;
    let moveto = call.params.int("moveto").and_then(|moveto| usize::try_from(moveto).ok());
    if let Some(moveto) = moveto.filter(|moveto| *moveto != at) {
        let rules = scope.rules_mut();
        let rule = rules.remove(at);
        let target = if moveto > at { moveto - 1 } else { moveto };
        rules.insert(target.min(rules.len()), rule);
    } else {
        let mut rule = scope.rules()[at].clone();
        take_over(call, &mut rule);
        delete_properties(call, &mut rule)?;
        check(call, &scope, &mut rule)?;
        scope.rules_mut()[at] = as_written(rule);
    }
    scope.save(call);
    Ok(Data::null())
}

/// `DELETE …/rules/{pos}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    call.check_digest(&digest_of(scope.rules()))?;
    let at = written_position(call, &scope, 462)?;
    scope.rules_mut().remove(at);
    scope.save(call);
    Ok(Data::null())
}

fn position(call: &Call<'_>, scope: &Scope) -> Result<usize, Failure> {
    let at = call.params.int("pos").and_then(|pos| usize::try_from(pos).ok());
    at.filter(|at| *at < scope.rules().len())
        .ok_or_else(|| Failure::die(format!("no rule at position {}", call.params.text("pos"))))
}

/// As Proxmox, whose changes stumble over a file that has no rules at all.
fn written_position(call: &Call<'_>, scope: &Scope, line: u32) -> Result<usize, Failure> {
    if scope.rules().is_empty() && scope.env != Env::Group {
        let place = format!("/usr/share/perl5/PVE/API2/Firewall/Rules.pm line {line}.");
        return Err(Failure::die(format!("Can't use an undefined value as an ARRAY reference at {place}")));
    }
    position(call, scope)
}

fn shown(call: &Call<'_>, scope: &Scope, at: usize, pos: Value) -> Map<String, Value> {
    let mut rule = scope.rules()[at].clone();
    let findings = findings(call, scope, &mut rule);
    if let Some(version) = findings.ipversion {
        rule.insert("ipversion".into(), json!(version));
    }
    if !findings.errors.is_empty() {
        rule.insert("errors".into(), json!(findings.errors.into_iter().collect::<Map<String, Value>>()));
    }
    rule.insert("pos".into(), pos);
    rule.insert("digest".into(), json!(digest_of(scope.rules())));
    rule
}

/// Empty values and `-` remove a property.
fn take_over(call: &Call<'_>, rule: &mut Map<String, Value>) {
    for name in PROPERTIES {
        match call.params.0.get(name).and_then(scalar) {
            None => {}
            Some(value) if value.is_empty() || value == "-" => drop(rule.shift_remove(name)),
            Some(value) if name == "enable" => {
                rule.insert(name.into(), json!(value.trim().parse::<i64>().unwrap_or(0)));
            }
            Some(value) => drop(rule.insert(name.into(), json!(value))),
        }
    }
}

fn delete_properties(call: &Call<'_>, rule: &mut Map<String, Value>) -> Result<(), Failure> {
    for name in call.params.list("delete") {
        let known = PROPERTIES.contains(&name.as_str()) && parameter(call.method.parameters(), &name).is_some();
        if !known {
            return Err(Failure::param("delete", format!("no such property ('{name}')")));
        }
        if matches!(name.as_str(), "type" | "action") {
            return Err(Failure::param("delete", format!("unable to delete required property '{name}'")));
        }
        rule.shift_remove(&name);
    }
    Ok(())
}

/// The first thing that is wrong with a rule is what the caller hears.
fn check(call: &Call<'_>, scope: &Scope, rule: &mut Map<String, Value>) -> Result<(), Failure> {
    match findings(call, scope, rule).errors.into_iter().next() {
        Some((name, message)) => Err(Failure::param(&name, message.as_str().unwrap_or_default())),
        None => Ok(()),
    }
}

fn findings(call: &Call<'_>, scope: &Scope, rule: &mut Map<String, Value>) -> Findings {
    let cluster = of_file(call.world, super::CLUSTER_FILE);
    let own = matches!(scope.env, Env::Vm | Env::Ct).then_some(&scope.firewall);
    verify(rule, scope.env, &cluster, own)
}

/// What the file can say of a rule: false values are not written, and a group's rule knows only its interface.
fn as_written(rule: Map<String, Value>) -> Map<String, Value> {
    let group = text(&rule, "type") == "group";
    let kept = rule.into_iter().filter(|(name, value)| match name.as_str() {
        "enable" | "type" | "action" => true,
        "iface" | "comment" | "macro" => scalar(value).is_some_and(|value| value != "0"),
        _ => !group && scalar(value).is_some_and(|value| value != "0"),
    });
    kept.collect()
}
