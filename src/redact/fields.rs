//! Masks fields of an answer by name and by path rule.

use pve_catalog::secrets::Judgement;
use pve_catalog::{Catalog, Gate, Method};
use serde_json::{Map, Value};

use super::{MASK, text};
use crate::config::Access;
use crate::policy::ApiCall;

/// How an answer is shown. Made from the call before it is sent: [`View::of`].
#[derive(Clone, Copy, Debug)]
pub struct View {
    methods: Methods<'static>,
    open: bool,
    fresh: bool,
}

/// An answer as it may be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The answer, masked.
    pub value: Value,
    /// What to tell the caller when a secret that was just made had to be masked.
    pub hint: Option<&'static str>,
}

const FRESH_HINT: &str = "Proxmox shows this secret only once and it is masked here: set PROXMOX_ALLOW_SENSITIVE=true \
                          before making one through this server, or make it in Proxmox's own interface";

impl View {
    /// The view for the answer to this call. Fields stay readable where the call's gate is `sensitive` or `console`, or is
    /// a GET that the catalogue does not know (such a path counts as `sensitive`); a secret that the answer has just made
    /// stays readable when `PROXMOX_ALLOW_SENSITIVE` is set.
    pub fn of(call: &ApiCall, access: &Access) -> View {
        let methods = Methods::of(call);
        let open = match methods.0 {
            [None, _] => call.is_read(),
            methods => methods.iter().flatten().all(|method| matches!(method.gate, Gate::Sensitive | Gate::Console)),
        };
        View { methods, open, fresh: access.sensitive }
    }

    /// A view that masks everything: resources, audit lines, anything that is not the answer to one call.
    pub fn masked() -> View {
        View { methods: Methods::default(), open: false, fresh: false }
    }

    /// The answer as it may be shown.
    pub fn value(&self, value: &Value) -> Shown {
        if self.open {
            return Shown { value: value.clone(), hint: None };
        }
        let mut masker = Masker { methods: self.methods, fresh: self.fresh, hid_fresh: false };
        let value = masker.value(value);
        Shown { value, hint: masker.hid_fresh.then_some(FRESH_HINT) }
    }
}

/// Any value, masked by name and form, whatever gate is open. `method` sharpens the rules where it is known.
pub fn value(method: Option<&Method>, value: &Value) -> Value {
    Masker { methods: Methods([method, None]), fresh: false, hid_fresh: false }.value(value)
}

/// A value of this call, masked.
pub(super) fn value_of(call: &ApiCall, value: &Value) -> Value {
    Masker { methods: Methods::of(call), fresh: false, hid_fresh: false }.value(value)
}

/// Messages by parameter. A message about a secret parameter is told up to the point where it quotes what was given.
pub(super) fn messages(errors: &Value) -> Value {
    let Value::Object(errors) = errors else { return value(None, errors) };
    let told = errors.iter().map(|(name, message)| {
        let told = match message {
            Value::String(said) if judge(None, name) != Judgement::Plain => Value::from(without_quotes(&text(said))),
            // Deeper down the keys are parameters no more.
            other => value(None, other),
        };
        (text(name).into_owned(), told)
    });
    Value::Object(told.collect())
}

/// `type check ('integer') failed - got 'x'` -> `type check ([REDACTED]) failed - got [REDACTED]`; `invalid string: x` ->
/// `invalid string: [REDACTED]`.
fn without_quotes(message: &str) -> String {
    let (start, rest) = message.split_once(": ").unzip();
    let parts: Vec<&str> = start.unwrap_or(message).split('\'').collect();
    let told: String = parts.iter().enumerate().map(|(at, part)| if at % 2 == 1 { MASK } else { *part }).collect();
    if rest.is_some() { format!("{told}: {MASK}") } else { told }
}

/// The method that a field belongs to; two where an imported catalogue calls it otherwise than the embedded one: then a
/// field is what the stricter of both says.
#[derive(Clone, Copy, Debug, Default)]
struct Methods<'m>([Option<&'m Method>; 2]);

impl Methods<'static> {
    fn of(call: &ApiCall) -> Methods<'static> {
        let mut methods = call.methods();
        Methods([methods.next(), methods.next()])
    }
}

impl Methods<'_> {
    fn judge(&self, field: &str) -> Judgement {
        let one = judge(self.0[0], field);
        match self.0[1].map(|known| judge(Some(known), field)) {
            None => one,
            Some(Judgement::Secret) => Judgement::Secret,
            Some(Judgement::Fresh) if one == Judgement::Plain => Judgement::Fresh,
            Some(_) => one,
        }
    }
}

/// What the rules say about a parameter of this call.
pub(super) fn judge_in(call: &ApiCall, field: &str) -> Judgement {
    Methods::of(call).judge(field)
}

/// What the rules say about a field of a method's parameters or answer.
pub(super) fn judge(method: Option<&Method>, field: &str) -> Judgement {
    Catalog::rules().secrets.judge(method.map(|method| (method.verb, method.path)), field)
}

struct Masker<'m> {
    methods: Methods<'m>,
    fresh: bool,
    hid_fresh: bool,
}

impl Masker<'_> {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(string) => Value::String(self.string(string)),
            Value::Array(list) => Value::Array(list.iter().map(|value| self.value(value)).collect()),
            Value::Object(map) => Value::Object(self.object(map)),
            other => other.clone(),
        }
    }

    /// JSON inside a string is masked as JSON; everything else by form.
    fn string(&mut self, string: &str) -> String {
        if let Some(inner @ (Value::Object(_) | Value::Array(_))) = json_inside(string) {
            let masked = self.value(&inner);
            if masked != inner {
                return masked.to_string();
            }
        }
        text(string).into_owned()
    }

    fn object(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        // Some answers are rows about a setting: `{"key": "cipassword", "value": …, "pending": …}`.
        let row_of =
            map.get("key").and_then(Value::as_str).filter(|_| map.contains_key("value") || map.contains_key("pending"));
        let secret_row = row_of.is_some_and(|setting| judge(None, setting) != Judgement::Plain);
        map.iter()
            .map(|(name, value)| {
                let in_secret_row = secret_row && matches!(name.as_str(), "value" | "pending" | "old" | "new");
                let shown = if in_secret_row { mask(value) } else { self.field(name, value) };
                (text(name).into_owned(), shown)
            })
            .collect()
    }

    fn field(&mut self, name: &str, value: &Value) -> Value {
        match self.methods.judge(name) {
            Judgement::Plain => self.value(value),
            Judgement::Fresh if self.fresh => value.clone(),
            Judgement::Fresh => {
                self.hid_fresh |= hides(value);
                mask(value)
            }
            Judgement::Secret => mask(value),
        }
    }
}

/// The mask instead of a value; switches, nothing and Proxmox's own mask have nothing to hide.
fn mask(value: &Value) -> Value {
    if hides(value) { Value::from(MASK) } else { value.clone() }
}

fn hides(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(string) => !string.is_empty() && string != super::PROXMOX_MASK && string != MASK,
        Value::Array(list) => list.iter().any(hides),
        Value::Object(map) => map.values().any(hides),
        Value::Number(_) => true,
    }
}

fn json_inside(string: &str) -> Option<Value> {
    let start = string.trim_start();
    (start.starts_with('{') || start.starts_with('[')).then(|| serde_json::from_str(start).ok())?
}
