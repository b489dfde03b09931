//! Example values: one for whatever a call must have, none that nobody needs.

use std::collections::BTreeSet;

use pve_catalog::example::{example, smallest_call};
use pve_catalog::json_schema::{Detail, input_schema};
use pve_catalog::{Catalog, verify};

#[test]
fn every_required_parameter_has_an_example() {
    let mut missing = Vec::new();
    for method in Catalog::embedded().methods() {
        let call = smallest_call(method);
        let schema = input_schema(method, Detail::Compact);
        let required = schema.get("required").and_then(|required| required.as_array());
        for name in required.into_iter().flatten().filter_map(|name| name.as_str()) {
            if !call.contains_key(name) {
                missing.push(format!("{}#{name}", method.key()));
            }
        }
        for name in pve_catalog::path::placeholders(method.path) {
            if example(method, name).is_none() {
                missing.push(format!("{}#{name}", method.key()));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn no_example_is_stale() {
    let examples = &Catalog::tables().examples;
    let methods = Catalog::embedded().methods();
    let mut stale = Vec::new();
    let used: BTreeSet<String> =
        methods.iter().flat_map(|method| smallest_call(method).into_iter().map(|(k, _)| k)).collect();
    stale.extend(examples.values.keys().filter(|name| !used.contains(*name)).cloned());
    for row in &examples.at {
        for (name, value) in row.values.iter().chain(&row.also) {
            let counts = methods.iter().filter(|method| row.matches(method)).any(|method| {
                example(method, name).is_some_and(|example| &example == value)
                    && smallest_call(method).contains_key(name)
            });
            if !counts {
                stale.push(format!("{} {name} = {value}", row.path));
            }
        }
    }
    assert_eq!(stale, Vec::<String>::new());
}

#[test]
fn the_smallest_call_of_each_method_passes_verification() {
    let mut wrong = Vec::new();
    for method in Catalog::embedded().methods() {
        let mut call = smallest_call(method);
        // A few schemas leave out what stands in their own path.
        let known = verify::parameter_names(method.parameters());
        call.retain(|name, _| known.contains(&name.as_str()));
        if let Err(errors) = verify::verify(method.parameters(), &call) {
            wrong.push(format!("{}: {errors}", method.key()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
