//! Advice is about something that exists, short, and names tools that there are.

use std::collections::HashSet;

use pve_catalog::{Advice, Catalog, Method, Verb};

/// The longest line, in characters.
const LONGEST: usize = 140;
/// The longest line in the list of tools.
const LONGEST_LISTED: usize = 100;

fn rules() -> &'static pve_catalog::advice::AdviceRules {
    &Catalog::rules().advice
}

fn method(verb: Verb, path: &str) -> &'static Method {
    Catalog::embedded().get(verb, path).unwrap_or_else(|| panic!("{verb} {path} is in the catalogue"))
}

fn about(method: &Method, param: &str) -> Vec<&'static str> {
    let of_param = |advice: &&Advice| match param {
        "" => advice.params.is_empty(),
        _ => advice.params.iter().any(|name| name == param),
    };
    method.advice().filter(of_param).map(|advice| advice.text.as_str()).collect()
}

#[test]
fn no_advice_is_stale() {
    let mut stale = Vec::new();
    for advice in &rules().advice {
        let methods: Vec<&Method> =
            (Catalog::embedded().methods().iter()).filter(|method| advice.is_about(method.verb, method.path)).collect();
        let has = |name: &String| methods.iter().any(|method| method.parameters().properties.get(name).is_some());
        if methods.is_empty() {
            stale.push(format!("nothing matches {} ({})", advice.path, advice.text));
        }
        stale
            .extend(advice.params.iter().filter(|name| !has(name)).map(|name| format!("no {name} at {}", advice.path)));
        stale.extend(
            (advice.verbs.iter())
                .filter(|verb| methods.iter().all(|method| method.verb != **verb))
                .map(|verb| format!("no {verb} at {}", advice.path)),
        );
    }
    assert_eq!(stale, Vec::<String>::new());
}

#[test]
fn what_is_said_to_be_absent_does_not_exist() {
    for absent in &rules().absent {
        let exists = Catalog::embedded().methods().iter().find(|method| absent.names(method.verb, method.path));
        assert!(exists.is_none(), "{} is there: {}", absent.path, exists.map(Method::key).unwrap_or_default());
    }
}

#[test]
fn advice_is_a_short_line_and_names_tools_that_exist() {
    let reserved: HashSet<&str> = Catalog::rules().reserved.values().flatten().map(String::as_str).collect();
    let mut problems = Vec::new();
    for advice in &rules().advice {
        let text = advice.text.as_str();
        if text.len() > if advice.listed { LONGEST_LISTED } else { LONGEST } {
            problems.push(format!("too long: {text}"));
        }
        if text.ends_with('.') || !text.is_ascii() {
            problems.push(format!("a full stop or an odd character: {text}"));
        }
    }
    let absent = rules().absent.iter().flat_map(|absent| std::iter::once(&absent.instead).chain(&absent.otherwise));
    let absent = absent.map(String::as_str);
    for text in rules().advice.iter().map(|advice| advice.text.as_str()).chain(absent) {
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("pve_"));
        for tool in words.filter(|tool| Catalog::embedded().by_tool(tool).is_none() && !reserved.contains(tool)) {
            problems.push(format!("there is no {tool}: {text}"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn advice_reaches_the_method_and_the_parameter_it_is_about() {
    let config = method(Verb::Put, "/nodes/{node}/qemu/{vmid}/config");
    assert!(about(config, "net[n]").iter().any(|text| text.contains("MAC")));
    assert!(about(config, "ipconfig[n]").iter().any(|text| text.contains("cloud-init drive")));
    assert!(config.advice().all(|advice| !advice.text.contains("hwaddr")), "that is about containers");
    let clone = method(Verb::Post, "/nodes/{node}/lxc/{vmid}/clone");
    assert!(about(clone, "storage").iter().any(|text| text.contains("linked")));
    assert!(about(clone, "format").is_empty(), "a container's clone has no such parameter");
    let groups = method(Verb::Get, "/cluster/ha/groups/{group}");
    assert!(groups.advice().any(|advice| advice.listed && advice.text.contains("pve_list_ha_rules")));
    assert_eq!(method(Verb::Get, "/version").advice().count(), 0);
}

#[test]
fn a_call_that_does_not_exist_leads_to_what_does() {
    let instead = |verb, path| rules().instead_of(verb, path, |_| true);
    let exec = instead(Verb::Post, "/nodes/pve1/lxc/100/exec").expect("known to be looked for");
    assert!(exec.contains("pve_lxc_exec"));
    assert!(instead(Verb::Post, "/nodes/pve1/lxc/100/config").is_some_and(|text| text.contains("PUT")));
    assert_eq!(instead(Verb::Put, "/nodes/pve1/lxc/100/config"), None);
    assert_eq!(instead(Verb::Get, "/no/such/path"), None);
    let without = |text: &str| !text.contains("pve_lxc_exec");
    let exec = rules().instead_of(Verb::Post, "/nodes/pve1/lxc/100/exec", without).expect("it is said otherwise");
    assert!(exec.contains("no other way"), "{exec}");
}
