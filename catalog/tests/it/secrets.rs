//! Every field whose name smells of a secret is judged, and no judgement is stale.

use std::collections::BTreeSet;

use pve_catalog::secrets::Judgement;
use pve_catalog::{Catalog, Format, Method, Schema, Verb};

/// Every name in the parameters and the answer of a method, at any depth, keys of property strings too.
fn fields(method: &Method) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(method.parameters(), &mut names);
    collect(method.returns(), &mut names);
    names
}

fn collect(schema: &Schema, names: &mut BTreeSet<String>) {
    let keys = match &schema.format {
        Some(Format::Keys(keys)) => Some(keys),
        _ => None,
    };
    for (name, property) in schema.properties.iter().chain(keys.into_iter().flat_map(|keys| keys.iter())) {
        names.insert(name.to_string());
        collect(property, names);
    }
    for part in schema.items.iter().map(Box::as_ref).chain(&schema.one_of).chain(&schema.all_of) {
        collect(part, names);
    }
}

#[test]
fn every_smelling_field_is_judged() {
    let rules = &Catalog::rules().secrets;
    let mut unjudged = Vec::new();
    for method in Catalog::embedded().methods() {
        for field in fields(method) {
            if rules.smells(&field) && rules.judged(Some((method.verb, method.path)), &field).is_none() {
                unjudged.push(format!("{} {field}", method.key()));
            }
        }
    }
    assert_eq!(unjudged, Vec::<String>::new(), "judge them in data/secrets.toml");
}

#[test]
fn no_judgement_is_stale() {
    let catalog = Catalog::embedded();
    let methods: Vec<(Verb, &str)> = catalog.methods().iter().map(|m| (m.verb, m.path)).collect();
    let has_field = |verb: Verb, template: &str, name: &str| {
        catalog.get(verb, template).is_some_and(|method| fields(method).contains(name))
    };
    assert_eq!(Catalog::rules().secrets.stale(&methods, has_field), Vec::<String>::new());
}

#[test]
fn the_first_rule_decides_and_the_unknown_is_secret() {
    let rules = &Catalog::rules().secrets;
    let token = Some((Verb::Post, "/access/users/{userid}/token/{tokenid}"));
    assert_eq!(rules.judge(token, "value"), Judgement::Fresh);
    assert_eq!(rules.judge(Some((Verb::Get, "/nodes/{node}/qemu/{vmid}/pending")), "value"), Judgement::Plain);
    assert_eq!(rules.judge(Some((Verb::Put, "/nodes/{node}/subscription")), "key"), Judgement::Secret);
    assert_eq!(rules.judge(None, "Password"), Judgement::Secret, "names are compared without case");
    assert_eq!(rules.judge(None, "some-new-apikey"), Judgement::Secret, "nobody has judged it yet");
    assert_eq!(rules.judge(None, "description"), Judgement::Plain);
}
