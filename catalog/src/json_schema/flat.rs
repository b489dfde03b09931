//! A method's parameters in one list, whatever way its schema groups them.

use std::sync::LazyLock;

use crate::schema::{Kind, Schema};
use crate::{Method, path};

/// One parameter.
#[derive(Debug)]
pub struct Flat<'s> {
    /// As the document writes it; `net[n]` for a family.
    pub name: &'s str,
    /// Its schema; several where variants of a section configuration differ.
    pub schemas: Vec<&'s Schema>,
    /// Whether every call needs it.
    pub required: bool,
    /// A family whose stem is the name of another parameter (`numa[n]` beside `numa`).
    pub stem_taken: bool,
}

impl<'s> Flat<'s> {
    /// `net[n]` -> `net`.
    pub fn family(&self) -> Option<&'s str> {
        self.name.strip_suffix("[n]")
    }

    /// Its key among the properties: `net` for a family, or its first member where that name is taken.
    pub fn key(&self) -> String {
        match self.family() {
            Some(family) if self.stem_taken => format!("{family}0"),
            Some(family) => family.to_string(),
            None => self.name.to_string(),
        }
    }
}

/// For a value of the path about which the document says nothing.
static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema { kind: Kind::String, ..Schema::default() });

/// Path parameters in the order of the path, then required ones, then the others. Every path parameter is required, whatever its schema says.
pub fn flatten(method: &Method) -> Vec<Flat<'_>> {
    let mut found = Vec::new();
    collect(method.parameters(), true, &mut found);
    let in_path: Vec<&str> = path::placeholders(method.path).collect();
    for name in &in_path {
        match found.iter_mut().find(|flat| flat.name == *name) {
            Some(flat) => flat.required = true,
            None => add(&mut found, name, &TEXT, true),
        }
    }
    let plain: Vec<&str> = found.iter().filter(|flat| flat.family().is_none()).map(|flat| flat.name).collect();
    for flat in &mut found {
        flat.stem_taken = flat.family().is_some_and(|family| plain.contains(&family));
    }
    let rank = |flat: &Flat<'_>| match in_path.iter().position(|name| *name == flat.name) {
        Some(at) => at,
        None if flat.required => in_path.len(),
        None => in_path.len() + 1,
    };
    found.sort_by_key(rank);
    found
}

/// `always`: whether this part holds for every call, so that what it requires is required.
fn collect<'s>(schema: &'s Schema, always: bool, found: &mut Vec<Flat<'s>>) {
    for (name, property) in schema.properties.iter() {
        add(found, name, property, always && required(property));
    }
    if let (Some(name), Some(property)) = (&schema.type_property, &schema.type_schema) {
        add(found, name, property, always && !property.optional);
    }
    for part in &schema.all_of {
        collect(part, always, found);
    }
    let in_every_variant = |name: &str| {
        let requires = |part: &Schema| part.properties.get(name).is_some_and(|property| !property.optional);
        always && schema.one_of.iter().all(requires)
    };
    for part in &schema.one_of {
        for (name, property) in part.properties.iter() {
            add(found, name, property, in_every_variant(name));
        }
    }
}

/// A property that is only for some types, or optional for one of them, is not required of every call.
fn required(property: &Schema) -> bool {
    !property.optional && property.instance_types.is_empty() && property.one_of.iter().all(|variant| !variant.optional)
}

fn add<'s>(found: &mut Vec<Flat<'s>>, name: &'s str, schema: &'s Schema, required: bool) {
    match found.iter_mut().find(|flat| flat.name == name) {
        Some(flat) => {
            flat.required |= required;
            if !flat.schemas.contains(&schema) {
                flat.schemas.push(schema);
            }
        }
        None => found.push(Flat { name, schemas: vec![schema], required, stem_taken: false }),
    }
}
