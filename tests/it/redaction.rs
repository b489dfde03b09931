//! What may be shown: by name, by path, by form; requests that carry a mask; a canary in every secret parameter.

use proptest::prelude::*;
use pve_catalog::secrets::Judgement;
use pve_catalog::{Catalog, Gate, Method, Schema, Verb, path};
use pvemcp::config::Access;
use pvemcp::error::{Code, Fault};
use pvemcp::policy::ApiCall;
use pvemcp::redact::{self, MASK, View};
use serde_json::json;

use crate::scripted::{Scripted, call, permit, reply, status};

fn shown(verb: Verb, path: &str, sensitive: bool, answer: serde_json::Value) -> redact::Shown {
    let access = Access { sensitive, ..Access::default() };
    View::of(&call(verb, path, &[]), &access).value(&answer)
}

#[test]
fn fields_by_name_and_path() {
    let answer = json!({"cipassword": "abc", "name": "x", "sshkeys": "ssh-ed25519 AAAA", "digest": "0011"});
    let masked = shown(Verb::Get, "/nodes/pve1/qemu/100/config", true, answer);
    assert_eq!(masked.value, json!({"cipassword": MASK, "name": "x", "sshkeys": "ssh-ed25519 AAAA", "digest": "0011"}));
    assert_eq!(masked.hint, None);

    let rows = json!([{"key": "cipassword", "value": "abc", "pending": "def"}, {"key": "memory", "value": 512}]);
    let masked = shown(Verb::Get, "/nodes/pve1/qemu/100/pending", true, rows);
    assert_eq!(
        masked.value,
        json!([{"key": "cipassword", "value": MASK, "pending": MASK}, {"key": "memory", "value": 512}])
    );

    let dump =
        json!("#cloud-config\npassword: $5$abcdefgh$0123456789abcdef\nssh_authorized_keys:\n  - ssh-ed25519 AAAA\n");
    let masked = shown(Verb::Get, "/nodes/pve1/qemu/100/cloudinit/dump", false, dump);
    assert_eq!(
        masked.value,
        json!("#cloud-config\npassword: [REDACTED]\nssh_authorized_keys:\n  - ssh-ed25519 AAAA\n")
    );

    let masked =
        shown(Verb::Get, "/nodes/pve1/subscription", true, json!({"key": "pve2c-1234567890", "status": "active"}));
    assert_eq!(masked.value, json!({"key": MASK, "status": "active"}));

    let schema = json!([{"schema": {"fields": {"CF_Key": {"type": "string"}}}}]);
    assert_eq!(shown(Verb::Get, "/cluster/acme/challenge-schema", false, schema.clone()).value, schema);

    let list = json!([{"storage": "pbs", "password": null, "encryption-key": "12:34", "keyring": ""}]);
    let masked = shown(Verb::Get, "/storage", false, list);
    assert_eq!(masked.value, json!([{"storage": "pbs", "password": null, "encryption-key": MASK, "keyring": ""}]));
}

#[test]
fn sensitive_and_console_answers_stay_readable() {
    let ticket = json!({"ticket": "PVEVNC:65A0B1C2::c2lnbmF0dXJl", "port": "5900"});
    assert_eq!(shown(Verb::Post, "/nodes/pve1/qemu/100/vncproxy", true, ticket.clone()).value, ticket);
    let plugin = json!({"plugin": "dns", "data": "c2VjcmV0"});
    assert_eq!(shown(Verb::Get, "/cluster/acme/plugins/dns", true, plugin.clone()).value, plugin);
    assert_eq!(shown(Verb::Get, "/some/unknown/path", true, json!({"password": "x"})).value["password"], "x");
    assert_eq!(shown(Verb::Post, "/some/unknown/path", true, json!({"password": "x"})).value["password"], MASK);
    assert_eq!(View::masked().value(&ticket).value["ticket"], MASK);
}

#[test]
fn a_secret_that_was_just_made() {
    let made =
        json!({"full-tokenid": "a@pve!b", "info": {"privsep": 1}, "value": "01234567-89ab-cdef-0123-456789abcdef"});
    let path = "/access/users/a@pve/token/b";
    let open = shown(Verb::Post, path, true, made.clone());
    assert_eq!((open.value, open.hint), (made.clone(), None));
    let masked = shown(Verb::Post, path, false, made);
    assert_eq!(masked.value, json!({"full-tokenid": "a@pve!b", "info": {"privsep": 1}, "value": MASK}));
    assert!(masked.hint.expect("a hint").contains("PROXMOX_ALLOW_SENSITIVE"));
}

#[test]
fn a_request_as_shown() {
    let given =
        [("userid", "a@pve"), ("password", "hunter22"), ("comment", "see http://u:p@host/"), ("x", "1"), ("x", "2")];
    let request = redact::request(&call(Verb::Post, "/access/users", &given));
    let wanted = json!({
        "method": "POST",
        "path": "/access/users",
        "params": {"userid": "a@pve", "password": MASK, "comment": "see http://[REDACTED]@host/", "x": ["1", "2"]},
    });
    assert_eq!(request, wanted);
    let commands = r#"[{"method":"POST","path":"/access/users","args":{"password":"hunter22","userid":"a@pve"}}]"#;
    let call = call(Verb::Post, "/nodes/pve1/execute", &[("commands", commands)]);
    assert!(!redact::request(&call).to_string().contains("hunter22"));
    assert_eq!(redact::secret_params(&call), ["hunter22"]);
}

#[test]
fn a_mask_is_not_sent_back() {
    for masked in [MASK, "**********", "prefix [REDACTED]", "user=x,password=**********"] {
        let call = call(Verb::Put, "/storage/nas", &[("content", "iso"), ("options", masked)]);
        let fault = redact::refuse_masked(&call).expect_err("it carries a mask");
        assert_eq!(fault.code, Code::RedactedBody);
        assert!(fault.message.contains("'options'"), "{fault}");
    }
    redact::refuse_masked(&call(Verb::Put, "/storage/nas", &[("content", "iso"), ("comment", "*****")]))
        .expect("no mask");
}

#[test]
fn errors_are_masked_whatever_is_open() {
    let fault = Fault::new(Code::Internal, "token a@pve!b=01234567-89ab-cdef-0123-456789abcdef refused")
        .hint("try http://u:p@host")
        .detail("params", json!({"password": "hunter22"}));
    let fault = redact::fault(fault);
    assert_eq!(fault.message, "token a@pve!b=[REDACTED] refused");
    assert_eq!(fault.hint.as_deref(), Some("try http://[REDACTED]@host"));
    assert_eq!(fault.details["params"]["password"], MASK);
}

#[test]
fn what_is_wrong_with_a_secret_is_told_without_it() {
    let errors = json!({
        "password": "value must be at least 8 characters long",
        "otp": "type check ('string') failed - got 'hunter22'",
        "keyring": "invalid keyring: hunter22",
        "memory": "type check ('integer') failed - got 'x: y'",
    });
    let fault = redact::fault(Fault::new(Code::BadArgument, "no").detail("errors", errors));
    let wanted = json!({
        "password": "value must be at least 8 characters long",
        "otp": "type check ([REDACTED]) failed - got [REDACTED]",
        "keyring": "invalid keyring: [REDACTED]",
        "memory": "type check ('integer') failed - got 'x: y'",
    });
    assert_eq!(fault.details["errors"], wanted);

    let method = Catalog::embedded().get(Verb::Post, "/access/users").expect("a method");
    let arguments = json!({"userid": "a@pve", "password": "hunter22", "keys": ["seedseed", 12345678]});
    let secrets = redact::secret_arguments(Some(method), arguments.as_object().expect("an object"));
    assert_eq!(secrets, ["hunter22", "seedseed", "12345678"]);
    let scrubber = redact::Scrubber::of(secrets.iter().map(String::as_str));
    let fault = scrubber.fault(Fault::new(Code::BadArgument, "got 'hunter22'").hint("not hunter22"));
    assert_eq!((fault.message.as_str(), fault.hint.as_deref()), ("got '[REDACTED]'", Some("not [REDACTED]")));
}

/// Every method with secret parameters, and their names.
fn secret_parameters() -> Vec<(&'static Method, Vec<String>)> {
    let rules = &Catalog::rules().secrets;
    let methods = Catalog::embedded().methods().iter().map(|method| {
        let mut names = Vec::new();
        top_level(method.parameters(), &mut names);
        let in_path: Vec<&str> = path::placeholders(method.path).collect();
        names.retain(|name| {
            !in_path.contains(&name.as_str()) && rules.judge(Some((method.verb, method.path)), name) != Judgement::Plain
        });
        (method, names)
    });
    methods.filter(|(_, names)| !names.is_empty()).collect()
}

fn top_level(schema: &Schema, names: &mut Vec<String>) {
    names.extend(schema.properties.iter().map(|(name, _)| name.to_string()));
    schema.all_of.iter().chain(&schema.one_of).for_each(|part| top_level(part, names));
}

fn planted(method: &'static Method, names: &[String], canary: &str) -> ApiCall {
    let values = path::placeholders(method.path).map(|name| {
        let value = match name {
            "vmid" => "100",
            "cidr" => "10.0.0.1",
            _ => "pve1",
        };
        (name.to_string(), value.to_string())
    });
    let params = names.iter().map(|name| (name.clone(), canary.to_string())).collect();
    ApiCall::of(method, values.collect(), params).expect("harmless path values")
}

#[test]
fn the_secret_parameters_are_many() {
    let found = secret_parameters();
    assert!(found.len() >= 35, "{}", found.len());
    assert!(found.iter().any(|(method, _)| method.path == "/nodes/{node}/lxc"), "passwords of containers");
}

/// Every secret is judged otherwise than what stands beside it: in the request and in the answer.
#[test]
fn every_secret_makes_a_difference() {
    let rules = &Catalog::rules().secrets;
    for (method, names) in secret_parameters() {
        for name in &names {
            let call = planted(method, std::slice::from_ref(name), "canary-value");
            let shown = redact::request(&call);
            assert_eq!(shown["params"][name], "[REDACTED]", "{} {name}", method.key());
            assert_eq!(redact::secret_params(&call), ["canary-value"], "{} {name}", method.key());
        }
        let call = planted(method, &["comment".to_string()], "canary-value");
        assert_eq!(redact::request(&call)["params"]["comment"], "canary-value", "{}", method.key());
        assert!(redact::secret_params(&call).is_empty(), "{}", method.key());
    }
    let mut seen = 0;
    for method in Catalog::embedded().methods() {
        let mut fields = Vec::new();
        top_level(method.returns(), &mut fields);
        method.returns().items.iter().for_each(|items| top_level(items, &mut fields));
        let judged = |field: &String| rules.judge(Some((method.verb, method.path)), field);
        let call = planted(method, &[], "");
        let open = matches!(method.gate, Gate::Sensitive | Gate::Console);
        for field in fields.iter().filter(|field| judged(field) != Judgement::Plain) {
            let answer = json!({field.as_str(): "canary-value", "comment": "canary-value"});
            let shown =
                |sensitive: bool| View::of(&call, &Access { sensitive, ..Access::default() }).value(&answer).value;
            let readable = |shown: serde_json::Value| shown[field.as_str()] == "canary-value";
            assert_eq!(readable(shown(false)), open, "{} {field}", method.key());
            assert_eq!(readable(shown(true)), open || judged(field) == Judgement::Fresh, "{} {field}", method.key());
            assert_eq!(shown(false)["comment"], "canary-value", "{} {field}", method.key());
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    /// Planted in every secret parameter of every method, a canary shows neither in the description of the request nor in
    /// the error made from a server that says everything back in several encodings.
    #[test]
    fn a_canary_never_shows(canary in "Canary[ -~é]{4,24}\n?[!-~]{0,12}X") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let echoed = canary.clone();
            let server = Scripted::start(move |before, request| {
                let query = request.target.replace('+', " ");
                let plain = percent_encoding::percent_decode_str(&query).decode_utf8_lossy().into_owned();
                let echo = format!("{} {plain} {} {echoed}", request.body, request.target);
                let encoded = percent_encoding::utf8_percent_encode(&echoed, percent_encoding::NON_ALPHANUMERIC).to_string();
                match before % 4 {
                    // The reason phrase alone: the first line of what is said.
                    0 => status(&format!("500 bad {}", echoed.lines().next().unwrap_or_default()), ""),
                    1 => status(&format!("500 bad {encoded}"), ""),
                    2 => reply("500 x", "text/plain", echo.as_bytes()),
                    _ => {
                        let errors = json!({"password": echo, "x": {"deep": [echo]}});
                        status("500 x", &json!({"data": null, "message": echo, "errors": errors}).to_string())
                    }
                }
            })
            .await;
            // Tokens are refused by some methods before anything is sent.
            let client = server.client();
            for (method, names) in secret_parameters() {
                let call = planted(method, &names, &canary);
                let described = redact::request(&call).to_string();
                assert!(!described.contains("Canary"), "{}: {described}", method.key());
                if method.gate == Gate::Blocked {
                    continue;
                }
                let fault = client.send(permit(call)).await.expect_err("the server refuses");
                let shown = serde_json::Value::Object(fault.to_json()).to_string();
                assert!(!shown.contains("Canary"), "{}: {shown}", method.key());
            }
        });
    }
}
