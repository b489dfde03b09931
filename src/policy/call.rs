//! A request to Proxmox before anybody allowed it: which method, which path, which parameters.

use super::Tagged;
use pve_catalog::path::{self, PathError};
use pve_catalog::{Catalog, Method, Verb};

/// One request to the API of one cluster, described but not allowed. It can be shown; only a [`super::Permit`] can be sent.
#[derive(Clone, Debug)]
pub struct ApiCall {
    verb: Verb,
    method: Option<&'static Method>,
    known: Option<Known>,
    path: String,
    values: Vec<(String, String)>,
    params: Vec<(String, String)>,
    tagged: Option<Tagged>,
}

/// What the embedded catalogue makes of a path that leads to another method in an imported one: the policy asks both, so
/// that no import can lead a path away from what was decided about it.
#[derive(Clone, Debug)]
struct Known {
    method: &'static Method,
    values: Vec<(String, String)>,
}

/// Why a request cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// A path value, or the whole path, is not acceptable.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A parameter is also part of the path.
    #[error("'{0}' is part of the path and may not be given again as a parameter")]
    Repeated(String),
    /// The path would be read otherwise than it was written.
    #[error("the path does not lead where it was written for")]
    Ambiguous,
}

impl ApiCall {
    /// A request to a method of the catalogue. `values` are the path's, by placeholder; `params` everything else, in the
    /// form of the wire (a repeated name is an array).
    ///
    /// # Errors
    /// When a path value is missing or unacceptable, or a parameter repeats it.
    pub fn of(
        method: &'static Method,
        values: Vec<(String, String)>,
        params: Vec<(String, String)>,
    ) -> Result<ApiCall, CallError> {
        let value_of = |name: &str| values.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        path::render(method.path, value_of)?;
        if let Some((name, _)) = params.iter().find(|(name, _)| value_of(name).is_some()) {
            return Err(CallError::Repeated(name.clone()));
        }
        let path = method.path.split('/').map(|segment| match path::placeholder(segment) {
            Some(name) => value_of(name).unwrap_or_default(),
            None => segment,
        });
        let path = path.collect::<Vec<_>>().join("/");
        // What Proxmox will route must be what was decided about.
        if !method.is_reached_by(&path) {
            return Err(CallError::Ambiguous);
        }
        let known = Catalog::embedded().find(method.verb, &path).filter(|found| found.method.path != method.path);
        let known = known.map(|found| Known { method: found.method, values: owned(&found.values) });
        Ok(ApiCall { verb: method.verb, method: Some(method), known, path, values, params, tagged: None })
    }

    /// A request to a path that a caller wrote, decoded (`/nodes/pve1/qemu`). It may be unknown to the embedded catalogue.
    ///
    /// # Errors
    /// When the path is not in plain form, or a parameter repeats a path value.
    pub fn at(verb: Verb, path: &str, params: Vec<(String, String)>) -> Result<ApiCall, CallError> {
        path::check_plain(path)?;
        let path = format!("/{}", path.trim_matches('/'));
        if let Some(found) = Catalog::embedded().find(verb, &path) {
            return ApiCall::of(found.method, owned(&found.values), params);
        }
        Ok(ApiCall { verb, method: None, known: None, path, values: Vec::new(), params, tagged: None })
    }

    /// The same request with one more parameter.
    pub fn with_param(mut self, name: &str, value: &str) -> ApiCall {
        self.params.push((name.into(), value.into()));
        self
    }

    /// The same request, with what the tags of guests say just now.
    pub fn with_tags(self, tagged: Tagged) -> ApiCall {
        ApiCall { tagged: Some(tagged), ..self }
    }

    /// What the tags of guests say, where that was read.
    pub fn tagged(&self) -> Option<&Tagged> {
        self.tagged.as_ref()
    }

    /// The verb.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The method; `None` where the catalogue does not know it.
    pub fn method(&self) -> Option<&'static Method> {
        self.method
    }

    /// Every method that the path leads to, in whatever catalogue: what is decided about any of them holds.
    pub fn methods(&self) -> impl Iterator<Item = &'static Method> {
        self.method.into_iter().chain(self.known.as_ref().map(|known| known.method))
    }

    /// The path as Proxmox sees it after decoding, without `/api2/json`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path as it goes onto the wire, percent-encoded, without `/api2/json`.
    pub fn encoded_path(&self) -> String {
        match self.method {
            Some(method) => {
                let value_of = |name: &str| self.value(name);
                path::render(method.path, value_of).expect("checked when the call was made")
            }
            None => self.path.clone(),
        }
    }

    /// Parameters in the form of the wire.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }

    /// The first parameter of that name.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A value of the path, by placeholder.
    pub fn value(&self, placeholder: &str) -> Option<&str> {
        self.values.iter().find(|(key, _)| key == placeholder).map(|(_, value)| value.as_str())
    }

    /// Path values, in template order.
    pub fn values(&self) -> &[(String, String)] {
        &self.values
    }

    /// Path values by every name that a catalogue has for them.
    pub fn all_values(&self) -> impl Iterator<Item = &(String, String)> {
        self.values.iter().chain(self.known.iter().flat_map(|known| &known.values))
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        self.verb == Verb::Get
    }
}

fn owned(values: &[(&str, &str)]) -> Vec<(String, String)> {
    values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
