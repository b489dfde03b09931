//! Where a decoded path leads: the tree of path templates.

use std::collections::HashMap;

use crate::path;

/// The tree of path templates: literals first, then the one placeholder that a level may have.
#[derive(Default)]
pub(crate) struct Route {
    template: Option<&'static str>,
    literals: HashMap<&'static str, Route>,
    variable: Option<Box<Route>>,
    /// The template whose last placeholder takes all that follows.
    rest: Option<&'static str>,
}

impl Route {
    pub fn insert(&mut self, template: &'static str) {
        let mut at = self;
        for segment in template.split('/').filter(|segment| !segment.is_empty()) {
            at = match path::placeholder(segment) {
                Some(name) if path::takes_rest(template, name) => {
                    at.rest = Some(template);
                    return;
                }
                Some(_) => at.variable.get_or_insert_default(),
                None => at.literals.entry(segment).or_default(),
            };
        }
        at.template = Some(template);
    }

    /// The template of a decoded path, and its values by placeholder.
    pub fn find<'p>(&self, path: &'p str) -> Option<(&'static str, Vec<(&'static str, &'p str)>)> {
        let (template, values) = self.find_values(path)?;
        // Templates that share a level may call its placeholder otherwise: the one that was found names the values.
        Some((template, path::placeholders(template).zip(values).collect()))
    }

    fn find_values<'p>(&self, path: &'p str) -> Option<(&'static str, Vec<&'p str>)> {
        let mut at = self;
        let mut values = Vec::new();
        let mut rest = path.trim_start_matches('/');
        while !rest.is_empty() {
            if let Some(template) = at.rest {
                values.push(rest.trim_end_matches('/'));
                return Some((template, values));
            }
            let (segment, after) = rest.split_once('/').unwrap_or((rest, ""));
            at = match (at.literals.get(segment), &at.variable) {
                (Some(next), _) => next,
                (None, Some(next)) => {
                    values.push(segment);
                    next
                }
                (None, None) => return None,
            };
            rest = after.trim_start_matches('/');
        }
        at.template.map(|template| (template, values))
    }
}

/// Every method has the whole tree: it is not told with each.
impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Route")
    }
}
