//! The policy: gates, escalation, protected guests, unblocking, dry run, path rules.

use proptest::prelude::*;
use pve_catalog::arguments::ArgumentRule;
use pve_catalog::{Catalog, Gate, Method, Verb};
use pvemcp::config::{Access, ConfirmFallback};
use pvemcp::error::{Code, Fault};
use pvemcp::policy::{Admission, ApiCall, Policy};

/// A request: verb, path, parameters.
type Case<'c> = (Verb, &'c str, &'c [(&'c str, &'c str)]);

fn call(verb: Verb, path: &str, params: &[(&str, &str)]) -> ApiCall {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    ApiCall::at(verb, path, params).expect("a plain path")
}

fn writes() -> Access {
    Access { writes: true, ..Access::default() }
}

fn all() -> Access {
    Access { writes: true, elevated: true, guest_exec: true, ssh: true, sensitive: true, ..Access::default() }
}

fn refusal(access: Access, call: ApiCall) -> Fault {
    match Policy::new(access).admit(call, false) {
        Err(fault) => fault,
        Ok(admitted) => panic!("admitted: {admitted:?}"),
    }
}

fn goes(access: Access, call: ApiCall) -> bool {
    matches!(Policy::new(access).admit(call, false), Ok(Admission::Go(_)))
}

#[test]
fn refusals_name_the_variable() {
    let cases = [
        call(Verb::Post, "/nodes/pve1/qemu/100/status/start", &[]),
        call(Verb::Get, "/nodes/pve1/report", &[]),
        call(Verb::Delete, "/storage/local", &[]),
        call(Verb::Post, "/nodes/pve1/qemu/100/agent/exec", &[("command", "id")]),
        call(Verb::Get, "/nodes/pve1/qemu/100/agent/exec-status", &[("pid", "1")]),
        call(Verb::Post, "/nodes/pve1/termproxy", &[]),
        call(Verb::Post, "/nodes/pve1/execute", &[]),
        call(Verb::Get, "/access/ticket", &[]),
        call(Verb::Get, "/nodes/pve1/unheard-of", &[]),
        call(Verb::Put, "/nodes/pve1/unheard-of", &[]),
    ];
    let lines = cases.map(|call| format!("{}\n", refusal(Access::default(), call)));
    insta::assert_snapshot!(lines.concat());
}

#[test]
fn arguments_raise_the_gate() {
    let config = "/nodes/pve1/qemu/100/config";
    let ct = "/nodes/pve1/lxc/200/config";
    let raised: &[Case] = &[
        (Verb::Put, config, &[("hookscript", "local:snippets/x.sh")]),
        (Verb::Put, config, &[("args", "-S")]),
        (Verb::Put, config, &[("hostpci0", "0000:01:00.0")]),
        (Verb::Put, config, &[("parallel0", "/dev/parport0")]),
        (Verb::Put, config, &[("usb0", "host=1234:5678")]),
        (Verb::Put, config, &[("usb0", "1234:5678,usb3=1")]),
        (Verb::Put, config, &[("usb0", "spice,mapping=stick")]),
        (Verb::Put, config, &[("serial0", "/dev/ttyS0")]),
        (Verb::Put, config, &[("scsi1", "/dev/sdb")]),
        (Verb::Put, config, &[("scsi1", "local-lvm:0,import-from=/root/x.img")]),
        (Verb::Put, config, &[("scsi1", "size=1G,file=/dev/sdb")]),
        (Verb::Put, ct, &[("mp0", "/srv,mp=/srv")]),
        (Verb::Put, ct, &[("mp0", "mp=/srv,volume=/srv")]),
        (Verb::Put, ct, &[("rootfs", "/srv")]),
        (Verb::Put, ct, &[("dev0", "/dev/kvm")]),
        (Verb::Put, ct, &[("features", "nesting=1,mount=nfs")]),
        (Verb::Put, ct, &[("unprivileged", "0")]),
        (Verb::Post, "/nodes/pve1/lxc", &[("vmid", "300"), ("ostemplate", "local:vztmpl/x.tar.zst")]),
        (Verb::Post, "/nodes/pve1/lxc", &[("vmid", "300"), ("unprivileged", "0")]),
        (Verb::Post, "/nodes/pve1/lxc", &[("vmid", "300"), ("unprivileged", "1"), ("unprivileged", "0")]),
        (Verb::Post, "/nodes/pve1/vzdump", &[("vmid", "100"), ("script", "/x")]),
        (Verb::Put, "/cluster/backup/job1", &[("tmpdir", "/x")]),
    ];
    for (verb, path, params) in raised {
        let fault = refusal(writes(), call(*verb, path, params));
        assert_eq!(fault.code, Code::GateClosed, "{path} {params:?}");
        assert!(fault.hint.as_ref().is_some_and(|hint| hint.contains("PROXMOX_ALLOW_ELEVATED")), "{fault}");
        assert!(goes(all(), call(*verb, path, params)), "{path} {params:?} with everything open");
    }
    let plain: &[Case] = &[
        (Verb::Put, config, &[("usb0", "spice,usb3=1")]),
        (Verb::Put, config, &[("serial0", "socket")]),
        (Verb::Put, config, &[("scsi1", "local-lvm:8"), ("memory", "2048")]),
        (Verb::Put, ct, &[("mp0", "local-lvm:8,mp=/srv")]),
        (Verb::Put, ct, &[("features", "nesting=1")]),
        (Verb::Post, "/nodes/pve1/lxc", &[("vmid", "300"), ("unprivileged", "1"), ("ostemplate", "local:vztmpl/x")]),
        (Verb::Post, "/nodes/pve1/vzdump", &[("vmid", "100")]),
    ];
    for (verb, path, params) in plain {
        assert!(goes(writes(), call(*verb, path, params)), "{path} {params:?}");
    }
}

#[test]
fn every_argument_rule_names_something() {
    let rules = &Catalog::rules().arguments;
    for rule in rules.raise.iter().chain(&rules.destroys) {
        assert!(pve_catalog::arguments::is_known_condition(&rule.when), "{}: {}", rule.path, rule.when);
        let found = Catalog::embedded().methods().iter().any(|method| {
            let names: Vec<&str> = method.parameters().properties.iter().map(|(name, _)| name).collect();
            rule.params.iter().any(|_| rule.names_something(method.path, &names))
                || rule.path.contains("{qemu,lxc}") && names.contains(&rule.params[0].as_str())
        });
        assert!(found, "stale: {} {:?}", rule.path, rule.params);
    }
}

/// A value that a rule's condition means, and one that it does not.
fn values(rule: &ArgumentRule) -> (&'static str, Option<&'static str>) {
    let (meant, not) = match rule.when.as_str() {
        "given" => ("x", None),
        "true" => ("1", Some("0")),
        "not spice" => ("host=1234:5678", Some("spice")),
        "not socket" => ("/dev/ttyS0", Some("socket")),
        "not nesting" => ("mount=nfs", Some("nesting=1")),
        "host path" => ("/srv", Some("local:8")),
        "lists unused*" => ("scsi1,unused0", Some("scsi1")),
        other => panic!("a test must know the condition '{other}'"),
    };
    match not {
        // Then what fits is harmless, and what does not fit counts.
        Some(not) if rule.omitted || rule.negate => (not, Some(meant)),
        not => (meant, not),
    }
}

/// The call of a method with these parameters, and with what keeps other rules from counting.
fn plain_call(method: &'static Method, params: &[(&str, &str)]) -> ApiCall {
    let values = pve_catalog::path::placeholders(method.path).map(|name| (name.to_string(), "101".to_string()));
    let has = |name: &str| pve_catalog::verify::parameter(method.parameters(), name).is_some();
    let creates_container = method.verb == Verb::Post && method.path == "/nodes/{node}/lxc";
    let given = |name: &str| params.iter().any(|(other, _)| *other == name);
    let unprivileged =
        (creates_container && has("unprivileged") && !given("unprivileged")).then_some(("unprivileged", "1"));
    let params = params.iter().copied().chain(unprivileged).map(|(name, value)| (name.to_string(), value.to_string()));
    ApiCall::of(method, values.collect(), params.collect()).expect("harmless values")
}

/// Every parameter that a rule names, of every method that has it.
fn ruled(rules: &'static [ArgumentRule]) -> Vec<(&'static ArgumentRule, &'static Method, String)> {
    let mut all = Vec::new();
    for rule in rules {
        for method in Catalog::embedded().methods() {
            let names = pve_catalog::verify::parameter_names(method.parameters()).into_iter();
            let in_path = |name: &str| pve_catalog::path::placeholders(method.path).any(|other| other == name);
            let mine = names.filter(|name| rule.names(method.path, name) && !in_path(name));
            all.extend(mine.map(|name| (rule, method, name.replace("[n]", "0"))));
        }
    }
    all
}

/// An argument that a rule names is judged otherwise than without it, and otherwise than with a harmless value.
#[test]
fn every_argument_of_the_rules_makes_a_difference() {
    let rules = &Catalog::rules().arguments;
    let policy = Policy::new(all());
    let mut seen = 0;
    for (rule, method, name) in ruled(&rules.raise).into_iter().filter(|(_, method, _)| method.gate == Gate::Write) {
        let told = format!("{} {name} ({})", method.key(), rule.when);
        let (meant, not) = values(rule);
        let judged = policy.judge(&plain_call(method, &[(&name, meant)]));
        assert_eq!(judged.gate, Gate::Elevated, "{told}");
        assert!(judged.raised.is_some_and(|why| why.contains(&rule.reason)), "{told}");
        for params in [not.map(|not| vec![(name.as_str(), not)]), (!rule.omitted).then(Vec::new)].into_iter().flatten()
        {
            assert_eq!(policy.judge(&plain_call(method, &params)).gate, Gate::Write, "{told} without");
        }
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
    for (rule, method, name) in ruled(&rules.destroys).into_iter().filter(|(_, method, _)| !method.destructive) {
        let told = format!("{} {name} ({})", method.key(), rule.when);
        let (meant, not) = values(rule);
        assert!(policy.judge(&plain_call(method, &[(&name, meant)])).destructive, "{told}");
        for params in [not.map(|not| vec![(name.as_str(), not)]), Some(Vec::new())].into_iter().flatten() {
            assert!(!policy.judge(&plain_call(method, &params)).destructive, "{told} without");
        }
    }
    for rule in rules.raise.iter().chain(&rules.destroys) {
        for wanted in &rule.params {
            let is_named = |(other, _, name): &(&ArgumentRule, &Method, String)| {
                std::ptr::eq(*other, rule)
                    && wanted.trim_end_matches('*')
                        == name.trim_end_matches(|c: char| c.is_ascii_digit() && wanted.ends_with('*'))
            };
            let everywhere = ruled(std::slice::from_ref(rule));
            assert!(everywhere.iter().any(is_named), "no method has {wanted} at {}", rule.path);
        }
    }
}

#[test]
fn protected_guests_are_refused_however_they_are_named() {
    let mut access = all();
    access.protected_vmids = vec![100];
    let refused: &[Case] = &[
        (Verb::Post, "/nodes/pve1/qemu/100/status/stop", &[]),
        (Verb::Delete, "/nodes/pve1/lxc/100", &[]),
        (Verb::Post, "/nodes/pve1/qemu", &[("vmid", "100")]),
        (Verb::Post, "/nodes/pve1/qemu/101/clone", &[("newid", "100")]),
        (Verb::Delete, "/cluster/ha/resources/vm:100", &[]),
        (Verb::Post, "/cluster/ha/resources", &[("sid", "100")]),
        (Verb::Post, "/nodes/pve1/stopall", &[("vms", "99;100")]),
        (Verb::Post, "/nodes/pve1/stopall", &[]),
        (Verb::Post, "/cluster/bulk-action/guest/shutdown", &[]),
        (Verb::Delete, "/nodes/pve1/storage/local-lvm/content/local-lvm:vm-100-disk-0", &[]),
        (Verb::Delete, "/nodes/pve1/storage/local/content/local:100/vm-100-disk-0.qcow2", &[]),
        (
            Verb::Delete,
            "/nodes/pve1/storage/local/content/local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst",
            &[],
        ),
        (Verb::Put, "/nodes/pve1/qemu/101/config", &[("scsi1", "local-lvm:vm-100-disk-0")]),
        (Verb::Delete, "/cluster/replication/100-0", &[]),
        (Verb::Post, "/nodes/pve1/vzdump", &[("all", "1")]),
        (Verb::Post, "/nodes/pve1/vzdump", &[("all", "1"), ("exclude", "101")]),
        (Verb::Post, "/nodes/pve1/qemu/100/agent/exec", &[("command", "id")]),
        (Verb::Delete, "/nodes/pve1/storage/local/prunebackups", &[]),
        (Verb::Put, "/nodes/pve1/unheard/100", &[]),
    ];
    for (verb, path, params) in refused {
        assert_eq!(refusal(access.clone(), call(*verb, path, params)).code, Code::ProtectedGuest, "{path} {params:?}");
    }
    let allowed: &[Case] = &[
        (Verb::Get, "/nodes/pve1/qemu/100/config", &[]),
        (
            Verb::Put,
            "/nodes/pve1/qemu/101/config",
            &[("scsi0", "local:100/base-100-disk-0/vm-101-disk-0"), ("description", "was vm-100-disk-0")],
        ),
        (Verb::Post, "/nodes/pve1/stopall", &[("vms", "101")]),
        (Verb::Post, "/nodes/pve1/vzdump", &[("all", "1"), ("exclude", "100")]),
    ];
    for (verb, path, params) in allowed {
        assert!(goes(access.clone(), call(*verb, path, params)), "{path} {params:?}");
    }
}

#[test]
fn unblocking_opens_what_is_listed_and_no_get() {
    let execute = || call(Verb::Post, "/nodes/pve1/execute", &[("commands", "[]")]);
    let mut access = all();
    assert_eq!(refusal(access.clone(), execute()).code, Code::Blocked);
    access.unblock = vec!["POST /nodes/{node}/execute".into(), "GET /access/ticket".into()];
    assert!(goes(access.clone(), execute()));
    assert_eq!(refusal(access.clone(), call(Verb::Get, "/access/ticket", &[])).code, Code::Blocked);
    access.elevated = false;
    assert_eq!(refusal(access, execute()).code, Code::GateClosed);
}

#[test]
fn a_dry_run_opens_nothing_and_sends_nothing() {
    let start = || call(Verb::Post, "/nodes/pve1/qemu/100/status/start", &[]);
    let closed = Policy::new(Access::default());
    assert!(closed.admit(start(), true).is_err(), "dry_run: true opens no gate");
    let dry = Access { dry_run: true, writes: true, ..Access::default() };
    assert!(matches!(Policy::new(dry.clone()).admit(start(), false), Ok(Admission::Dry(_))));
    assert!(goes(dry.clone(), call(Verb::Get, "/version", &[])), "reads are made");
    let everything = Access { dry_run: true, ..all() };
    assert!(!Policy::new(everything).opens(Gate::Console, Verb::Post), "consoles are never dry");
}

#[test]
fn destructive_calls_can_be_refused_when_nobody_can_be_asked() {
    let access = Access { confirm_fallback: ConfirmFallback::Deny, ..all() };
    for call in [
        call(Verb::Delete, "/nodes/pve1/qemu/101", &[]),
        call(Verb::Put, "/nodes/pve1/qemu/101/config", &[("delete", "unused0")]),
        call(Verb::Post, "/nodes/pve1/qemu", &[("vmid", "101"), ("force", "1")]),
    ] {
        assert_eq!(refusal(access.clone(), call).code, Code::ConfirmationRequired);
    }
    assert!(goes(access, call(Verb::Post, "/nodes/pve1/qemu/101/status/start", &[])));
}

#[test]
fn paths_that_hide_something_are_refused() {
    for path in [
        "",
        "/",
        "nodes?x=1",
        "/nodes/pve1/%2e%2e/execute",
        "/nodes//pve1",
        "/a#b",
        "/nodes/../access",
        "/nodes/pvé1",
        "/nodes/pve1\\qemu",
        "/nodes/pve1/qemu/100 ",
        "/nodes/./pve1",
    ] {
        assert!(ApiCall::at(Verb::Get, path, vec![]).is_err(), "{path:?}");
    }
    let with = |verb, path: &str, name: &str| ApiCall::at(verb, path, vec![(name.into(), "1".into())]);
    assert!(with(Verb::Put, "/nodes/pve1/qemu/100/config", "vmid").is_err(), "a path parameter given again");
}

#[test]
fn a_task_with_an_encoded_id_can_be_asked_for() {
    let method = Catalog::embedded().get(Verb::Get, "/nodes/{node}/tasks/{upid}/status").expect("a method");
    let upid = "UPID:pve1:0000ABCD:00112233:65A1B2C3:download:local%3Aiso:root@pam:";
    let values = |upid: &str| vec![("node".to_string(), "pve1".to_string()), ("upid".to_string(), upid.to_string())];
    let call = ApiCall::of(method, values(upid), vec![]).expect("a task identifier");
    assert!(call.encoded_path().contains("local%253Aiso"), "{}", call.encoded_path());
    for wrong in ["UPID:pve1:%2", "local%3A", "UPID:%2F../x/y"] {
        assert!(ApiCall::of(method, values(wrong), vec![]).is_err(), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the values are: either the call is refused, or Proxmox, which decodes the path once and then splits it,
    /// finds the very method and values that the policy decided about.
    #[test]
    fn a_rendered_path_leads_where_it_was_written_for(
        at in 0..680usize,
        values in prop::collection::vec("\\PC{1,12}|[a-z0-9:/.%\\\\-]{1,16}|\\.\\.?", 4),
    ) {
        let method = &Catalog::embedded().methods()[at];
        let given: Vec<(String, String)> =
            pve_catalog::path::placeholders(method.path).map(str::to_string).zip(values).collect();
        if let Ok(call) = ApiCall::of(method, given.clone(), vec![]) {
            let encoded = call.encoded_path();
            prop_assert!(encoded.is_ascii());
            let decoded = percent_encoding::percent_decode_str(&encoded).decode_utf8().expect("it was text").into_owned();
            let found = Catalog::embedded().find(method.verb, &decoded).expect("a method of the catalogue");
            prop_assert_eq!(found.method.key(), method.key());
            let seen: Vec<(String, String)> =
                found.values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            prop_assert_eq!(seen, given);
        }
    }

    /// What the policy admits with some settings it admits with more open ones too, and a closed gate admits nothing.
    #[test]
    fn gates_only_open(at in 0..680usize, w: bool, e: bool, g: bool, s: bool, d: bool) {
        let method = &Catalog::embedded().methods()[at];
        let access = Access { writes: w, elevated: e, guest_exec: g, sensitive: s, dry_run: d, ..Access::default() };
        let policy = Policy::new(access);
        let values = pve_catalog::path::placeholders(method.path).map(|name| (name.to_string(), "x1".to_string()));
        let unprivileged = pve_catalog::verify::parameter(method.parameters(), "unprivileged").is_some();
        let params = unprivileged.then(|| ("unprivileged".to_string(), "1".to_string()));
        let call = ApiCall::of(method, values.collect(), params.into_iter().collect()).expect("harmless values");
        let admitted = policy.admit(call, false);
        prop_assert_eq!(admitted.is_ok(), policy.could_admit(method), "listed and admitted disagree");
        match admitted {
            Ok(Admission::Go(_)) if method.verb != Verb::Get => prop_assert!(w && !d),
            _ => {}
        }
    }
}
