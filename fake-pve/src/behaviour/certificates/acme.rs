//! `/nodes/{node}/certificates/acme`: certificates that an authority signs on request. The authority of the fake signs all.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{CUSTOM, keep, refuse_existing};
use crate::behaviour::node::config::domains;
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Failure};
use crate::work::{NewTask, Run};

/// `POST …/certificate`.
pub(crate) fn order(call: &mut Call<'_>) -> Answer {
    refuse_existing(call, has_custom(call))?;
    let options = wanted(call)?;
    let task = call.task("acmenewcert", "");
    call.start(ordering(task, options))
}

/// `PUT …/certificate`.
pub(crate) fn renew(call: &mut Call<'_>) -> Answer {
    let (name, now) = (call.node(), call.now());
    let custom = call.world.nodes.get(&name).and_then(|node| node.state.get(CUSTOM));
    let Some(pem) = custom.and_then(|custom| custom["certificates"].as_str()) else {
        return Err(Failure::die("No current (custom) certificate found, please order a new certificate!"));
    };
    let ends = super::der::Certificate::of_pem(pem).map_or(0, |certificate| certificate.notafter);
    if ends - now > 30 * 86_400 && !call.params.is_on("force") {
        return Err(Failure::param(
            "force",
            "Certificate does not expire within the next 30 days, and 'force' is not set.",
        ));
    }
    let options = wanted(call)?;
    let task = call.task("acmerenew", "");
    call.start(ordering(task, options))
}

/// `DELETE …/certificate`.
pub(crate) fn revoke(call: &mut Call<'_>) -> Answer {
    if !has_custom(call) {
        return Err(Failure::die("No certificate found, cannot revoke it!"));
    }
    let task = call.task("acmerevoke", "").lasts(Duration::from_secs(3)).line("Loading ACME account details");
    let task = task.line("Revoking old certificate").finish(|run| {
        let name = run.node.to_string();
        if let Some(node) = run.world.nodes.get_mut(&name) {
            node.state.remove(CUSTOM);
        }
        run.log("Deleting certificate files");
        run.log("Restarting pveproxy to revert to self-signed certificates");
        Ok(())
    });
    call.start(task)
}

fn has_custom(call: &Call<'_>) -> bool {
    call.world.nodes.get(&call.node()).is_some_and(|node| node.state.contains_key(CUSTOM))
}

/// The configuration of the node, with at least one domain.
fn wanted(call: &Call<'_>) -> Result<Map<String, Value>, Failure> {
    let options = call.world.documents.options.get(&format!("/nodes/{}/config", call.node())).cloned();
    let options = options.unwrap_or_default();
    if domains(&options).is_empty() {
        return Err(Failure::die("ACME domain list in node configuration is missing!"));
    }
    Ok(options)
}

fn ordering(task: NewTask, options: Map<String, Value>) -> NewTask {
    let acme = word(&options, "acme");
    let account = acme.split(',').find_map(|part| part.strip_prefix("account=")).unwrap_or("default").to_string();
    let names = domains(&options);
    let known = move |run: &mut Run<'_>| match run.world.documents.get("/cluster/acme/account", &account) {
        Some(_) => Ok(()),
        None => Err(format!("ACME account config file '{account}' does not exist.")),
    };
    let mut task = task.lasts(Duration::from_secs(8)).begin(known).line("Loading ACME account details");
    task = task.line("Placing ACME order");
    for (at, name) in (1..).zip(&names) {
        task = task.line_after(Duration::from_secs(at), format!("Validating '{name}'"));
    }
    task.line_after(Duration::from_secs(7), "Downloading certificate").finish(move |run| {
        let signed = || -> Result<(String, String), rcgen::Error> {
            let key = rcgen::KeyPair::generate()?;
            let mut params = rcgen::CertificateParams::new(names.clone())?;
            let first = names.first().map(String::as_str).unwrap_or_default();
            params.distinguished_name.push(rcgen::DnType::CommonName, first);
            let from = jiff::Timestamp::from_second(run.now).unwrap_or_default();
            let to = jiff::Timestamp::from_second(run.now + 90 * 86_400).unwrap_or_default();
            let day = |at: jiff::Timestamp| {
                let date = jiff::tz::Offset::UTC.to_datetime(at).date();
                rcgen::date_time_ymd(i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs())
            };
            params.not_before = day(from);
            params.not_after = day(to);
            Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
        };
        let (pem, key) = signed().map_err(|error| format!("unable to make a certificate - {error}"))?;
        run.log("Setting pveproxy certificate and key");
        run.log("Restarting pveproxy");
        let name = run.node.to_string();
        keep(run.world, &name, &pem, &json!(key));
        Ok(())
    })
}
