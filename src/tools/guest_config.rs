//! A change of a guest's configuration is made against the configuration that it was decided on.
//!
//! The configuration is read first and its `digest` sent along, so that Proxmox refuses when somebody changed it meanwhile.
//! The answer shows what the change did: the options before and after, and what waits for a restart.

use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value, json};

use crate::error::{Code, Fault};
use crate::policy::ApiCall;
use crate::redact;
use crate::tools::Ctx;

/// Parameters that are no options of the guest.
const NOT_OPTIONS: [&str; 7] =
    ["digest", "delete", "revert", "skiplock", "force", "background_delay", "import-working-storage"];

/// The configuration that a change was decided on.
pub struct Decided {
    template: &'static str,
    values: Vec<(String, String)>,
    before: Map<String, Value>,
    options: Vec<String>,
}

/// Reads the configuration before it is changed, and puts its digest into the request. Anything but a change of a guest's
/// configuration passes as it is, and so does a request that carries a digest of its own.
///
/// # Errors
/// The policy's refusal of the change, before anything is read; what reading can cause.
pub async fn decide(ctx: &Ctx, call: ApiCall, dry_run: bool) -> Result<(ApiCall, Option<Decided>), Fault> {
    let Some(template) = changed_config(&call) else { return Ok((call, None)) };
    let is_sent = ctx.cluster().policy.consider(&call, dry_run)?;
    let mut decided = Decided { template, values: call.values().to_vec(), before: Map::new(), options: options(&call) };
    match decided.read(ctx, template).await {
        Ok(config) => decided.before = config.as_object().cloned().unwrap_or_default(),
        // An account may be allowed to change what it may not read; and what is only shown needs no cluster.
        Err(fault) if !is_sent || fault.code == Code::Forbidden => return Ok((call, None)),
        Err(fault) => return Err(fault),
    }
    let digest = decided.before.get("digest").and_then(Value::as_str).filter(|_| call.param("digest").is_none());
    let call = match digest {
        Some(digest) => call.clone().with_param("digest", digest),
        None => call,
    };
    Ok((call, Some(decided)))
}

/// The template, when the request changes a guest's configuration.
fn changed_config(call: &ApiCall) -> Option<&'static str> {
    let method = call.method().filter(|method| matches!(method.verb, Verb::Put | Verb::Post))?;
    let guest = method.path.strip_prefix("/nodes/{node}/").and_then(|rest| rest.strip_suffix("/{vmid}/config"));
    matches!(guest, Some("qemu" | "lxc")).then_some(method.path)
}

/// The guest's options that the request names, given or deleted.
fn options(call: &ApiCall) -> Vec<String> {
    let deleted = call.params().iter().filter(|(name, _)| matches!(name.as_str(), "delete" | "revert"));
    let deleted = deleted.flat_map(|(_, list)| pve_catalog::arguments::entries(list).map(str::to_string));
    let given = call.params().iter().map(|(name, _)| name.clone()).filter(|name| !NOT_OPTIONS.contains(&name.as_str()));
    let mut options: Vec<String> = given.chain(deleted).collect();
    options.sort();
    options.dedup();
    options
}

impl Decided {
    async fn read(&self, ctx: &Ctx, template: &str) -> Result<Value, Fault> {
        let method = Catalog::embedded().get(Verb::Get, template);
        let method = method.ok_or_else(|| Fault::new(Code::Internal, format!("{template} cannot be read")))?;
        let call = ApiCall::of(method, self.values.clone(), Vec::new())
            .map_err(|error| Fault::new(Code::Internal, error.to_string()))?;
        let answer = ctx.read(call).await?;
        Ok(redact::value(Some(method), &answer.data))
    }

    /// `{before, after, pending}` of the options that the request named. What cannot be read any more is said, and does not
    /// make the change a failure.
    pub async fn outcome(&self, ctx: &Ctx) -> Value {
        let after = match self.read(ctx, self.template).await {
            Ok(config) => self.named(config.as_object()),
            Err(fault) => return json!({"before": self.named(Some(&self.before)), "unavailable": fault.message}),
        };
        let mut outcome = json!({"before": self.named(Some(&self.before)), "after": after});
        let pending = self.template.replace("/config", "/pending");
        if let Ok(Value::Array(rows)) = self.read(ctx, &pending).await {
            let waiting = rows.into_iter().filter(|row| row.get("pending").is_some() || row.get("delete").is_some());
            let waiting: Vec<Value> = waiting.collect();
            if !waiting.is_empty() {
                outcome["pending"] = waiting.into();
                outcome["hint"] = "pending values take effect when the guest is stopped and started".into();
            }
        }
        outcome
    }

    /// A conflict also says what somebody else changed meanwhile.
    pub async fn explain(&self, ctx: &Ctx, fault: Fault) -> Fault {
        if fault.code != Code::Conflict {
            return fault;
        }
        let Ok(Value::Object(now)) = self.read(ctx, self.template).await else { return fault };
        let names = self.before.keys().chain(now.keys()).filter(|name| *name != "digest");
        let changed = names.filter(|name| self.before.get(*name) != now.get(*name));
        let changed: Map<String, Value> = changed
            .map(|name| (name.clone(), json!({"decided_on": self.before.get(name), "now": now.get(name)})))
            .collect();
        fault.detail("changed_meanwhile", changed)
    }

    fn named(&self, config: Option<&Map<String, Value>>) -> Map<String, Value> {
        let of = |name: &String| Some((name.clone(), config?.get(name)?.clone()));
        self.options.iter().filter_map(of).collect()
    }
}
