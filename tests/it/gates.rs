//! Property: for any tool, any arguments and any settings, nothing reaches the cluster that the gates forbid.
//!
//! The journal of the fake is judged by a table of its own, apart from the policy's code.

use fake_pve::{Entry, FakePve};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use pve_catalog::{Catalog, Gate, Method, Verb, example};
use pvemcp::config::{Access, Connection, Credentials, Tls};
use serde_json::{Map, Value, json};

use crate::served;

/// Never to be changed in this test.
const PROTECTED: u32 = 100;

/// Parameters that reach the host, with a value that does, and the path under which they do.
const HOST: [(&str, &str, &str); 8] = [
    ("/qemu", "hookscript", "local:snippets/x.sh"),
    ("/qemu", "args", "-S"),
    ("/qemu", "usb0", "host=1234:5678"),
    ("/qemu", "serial0", "/dev/ttyS0"),
    ("/lxc", "hookscript", "local:snippets/x.sh"),
    ("/lxc", "dev0", "/dev/kvm"),
    ("/lxc", "mp0", "/srv,mp=/srv"),
    ("/vzdump", "script", "/root/x.sh"),
];

#[derive(Debug, Clone)]
struct Case {
    method: usize,
    access: Access,
    generic: bool,
    dry_run: bool,
    hosts: Vec<usize>,
    vmid: u32,
    odd: Vec<(usize, String)>,
}

/// Mostly open, so that much arrives; every combination happens.
fn cases() -> impl Strategy<Value = Case> {
    let mostly = || prop::bool::weighted(0.7);
    let rarely = || prop::bool::weighted(0.2);
    let access =
        (mostly(), mostly(), mostly(), mostly(), rarely(), mostly()).prop_map(|(w, e, g, s, dry, protect)| Access {
            writes: w,
            elevated: e,
            guest_exec: g,
            sensitive: s,
            dry_run: dry,
            protected_vmids: if protect { vec![PROTECTED] } else { Vec::new() },
            ..Access::default()
        });
    let methods = Catalog::embedded().methods();
    let writes: Vec<usize> = (0..methods.len()).filter(|at| methods[*at].verb != Verb::Get).collect();
    let method = prop_oneof![1 => 0..methods.len(), 2 => prop::sample::select(writes)];
    let odd = prop::collection::vec((0..8usize, "[a-z0-9:/.,=%-]{0,12}|\\PC{0,6}|\\.\\./[a-z]{1,5}"), 0..2);
    let hosts = prop::collection::vec(0..HOST.len(), 0..2);
    let vmid = prop::sample::select(vec![100u32, 101, 200, 201]);
    (method, access, any::<bool>(), rarely(), hosts, vmid, odd).prop_map(
        |(method, access, generic, dry_run, hosts, vmid, odd)| Case {
            method,
            access,
            generic,
            dry_run,
            hosts,
            vmid,
            odd,
        },
    )
}

fn arguments(case: &Case, method: &Method) -> Map<String, Value> {
    let mut arguments = example::smallest_call(method);
    if arguments.contains_key("vmid") {
        arguments.insert("vmid".into(), case.vmid.into());
    }
    for (under, name, value) in case.hosts.iter().map(|at| HOST[*at]) {
        if method.path.contains(under) && method.verb != Verb::Get {
            arguments.insert(name.into(), value.into());
        }
    }
    let names: Vec<String> = arguments.keys().cloned().collect();
    for (at, value) in &case.odd {
        if let Some(name) = names.get(*at) {
            arguments.insert(name.clone(), value.as_str().into());
        }
    }
    arguments
}

/// As a tool of its own, or through the generic ones with the path written out.
fn tool_call(case: &Case, method: &'static Method) -> (String, Map<String, Value>) {
    let mut arguments = arguments(case, method);
    match method.tool {
        Some(tool) if !case.generic => {
            if method.verb != Verb::Get {
                arguments.insert("dry_run".into(), case.dry_run.into());
            }
            (tool.into(), arguments)
        }
        _ => {
            let path = method.path.split('/').map(|segment| {
                let name = pve_catalog::path::placeholder(segment);
                let value = name.and_then(|name| arguments.shift_remove(name));
                value.map_or(segment.to_string(), |value| value.as_str().map_or(value.to_string(), str::to_string))
            });
            let path = path.collect::<Vec<_>>().join("/");
            let tool = if method.verb == Verb::Get { "pve_api_read" } else { "pve_api_write" };
            let mut call = json!({"path": path, "params": arguments});
            if method.verb != Verb::Get {
                call["method"] = method.verb.word().into();
                call["dry_run"] = case.dry_run.into();
            }
            (tool.into(), call.as_object().cloned().expect("an object"))
        }
    }
}

/// Why a request that arrived should not have.
fn objection(entry: &Entry, access: &Access, dry_run: bool) -> Option<String> {
    let writes = access.writes && !access.dry_run && !dry_run;
    let verb: Verb = entry.verb.parse().ok()?;
    if verb != Verb::Get && !writes {
        return Some("a write without writes".into());
    }
    let method = entry.template.and_then(|template| Catalog::embedded().get(verb, template));
    let gate = method.map_or(if verb == Verb::Get { Gate::Sensitive } else { Gate::Elevated }, |method| method.gate);
    let open = match gate {
        Gate::Read | Gate::Write => true,
        Gate::Sensitive => access.sensitive,
        Gate::Elevated => access.elevated,
        Gate::GuestExec => access.guest_exec,
        Gate::Console => access.elevated && access.sensitive,
        Gate::SshRead | Gate::SshWrite | Gate::Blocked => false,
    };
    if !open {
        return Some(format!("the gate {gate} is closed"));
    }
    if verb == Verb::Get {
        return None;
    }
    let reaches_host = HOST.iter().any(|(under, name, value)| {
        entry.path.contains(under) && entry.params.get(*name).and_then(Value::as_str) == Some(*value)
    });
    if reaches_host && !access.elevated {
        return Some("an argument that reaches the host, without elevated".into());
    }
    let protected = access.protected_vmids.contains(&PROTECTED);
    let named = entry.path.split('/').any(|segment| segment == "100")
        || entry.params.get("vmid").is_some_and(|vmid| vmid.as_str() == Some("100"));
    (protected && named).then(|| "a protected guest".into())
}

fn connection(fake: &FakePve) -> Connection {
    let credentials = fake.credentials();
    Connection {
        url: fake.url(),
        credentials: Credentials::Token {
            id: format!("root@pam!{}", credentials.token_name),
            secret: credentials.token_secret.clone().into(),
        },
        tls: Tls::Off,
        ..served::nowhere()
    }
}

#[test]
fn nothing_arrives_that_the_gates_forbid() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let fake = runtime.block_on(FakePve::builder().start()).expect("the fake starts");
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let arrived = std::cell::Cell::new([0usize; 2]);
    let result = TestRunner::new(config).run(&cases(), |case| {
        let method = &Catalog::embedded().methods()[case.method];
        let (tool, arguments) = tool_call(&case, method);
        let server = served::server(served::settings(connection(&fake), case.access.clone()));
        fake.forget_requests();
        runtime.block_on(server.call(&tool, arguments, Default::default()));
        for entry in fake.requests() {
            let objection = objection(&entry, &case.access, case.dry_run);
            prop_assert!(objection.is_none(), "{} {}: {objection:?}", entry.verb, entry.path);
            let [reads, writes] = arrived.get();
            arrived.set(if entry.verb == "GET" { [reads + 1, writes] } else { [reads, writes + 1] });
        }
        Ok(())
    });
    result.expect("nothing arrived that the gates forbid");
    let [reads, writes] = arrived.get();
    assert!(reads > 15 && writes > 20, "the test saw too little to mean anything: {reads} reads, {writes} writes");
}
