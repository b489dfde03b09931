//! `/cluster/acme`: accounts at certificate authorities, and plugins that answer their challenges. No authority is asked.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pve_catalog::verify::parameter;
use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::section_type::{SectionType, forget_empty};

const ACCOUNTS: &str = "/cluster/acme/account";
const PLUGINS: &str = "/cluster/acme/plugins";

/// The authorities that are offered.
const DIRECTORIES: [(&str, &str); 2] = [
    ("Let's Encrypt V2", "https://acme-v02.api.letsencrypt.org/directory"),
    ("Let's Encrypt V2 Staging", "https://acme-staging-v02.api.letsencrypt.org/directory"),
];

const TYPES: [SectionType; 2] = [
    SectionType {
        name: "dns",
        required: &["api"],
        optional: &["data", "disable", "nodes", "validation-delay"],
        fixed: &[],
    },
    SectionType { name: "standalone", required: &[], optional: &["disable", "nodes"], fixed: &[] },
];

/// `GET /cluster/acme`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    let names = ["account", "tos", "meta", "directories", "plugins", "challenge-schema"];
    Ok(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>().into())
}

/// `GET /cluster/acme/account`.
pub(crate) fn accounts(call: &mut Call<'_>) -> Answer {
    let names = call.world.documents.list(ACCOUNTS).iter().map(|(name, _)| json!({"name": name}));
    Ok(Data::from(names.collect::<Vec<_>>()))
}

/// `GET /cluster/acme/account/{name}`.
pub(crate) fn account(call: &mut Call<'_>) -> Answer {
    let name = account_name(call);
    Ok(Value::Object(known_account(call, &name)?.clone()).into())
}

/// `POST /cluster/acme/account`.
pub(crate) fn register(call: &mut Call<'_>) -> Answer {
    let name = account_name(call);
    if call.world.documents.get(ACCOUNTS, &name).is_some() {
        return Err(Failure::param("name", format!("ACME account config file '{name}' already exists.")));
    }
    let directory = call.params.get("directory").unwrap_or_else(|| DIRECTORIES[0].1.to_string());
    let (contact, tos) = (contact(call), call.params.get("tos_url"));
    let number = 100_000_000 + call.world.random.below(900_000_000);
    let host = directory.split('/').take(3).collect::<Vec<_>>().join("/");
    let location = format!("{host}/acme/acct/{number}");
    let task = call
        .task("acmeregister", "")
        .lasts(Duration::from_secs(2))
        .line("Generating ACME account key..")
        .line("Registering ACME account..")
        .finish(move |run| {
            run.log(format!("Registration successful, account URL: '{location}'"));
            let mut account = json!({
                "account": {"contact": contact, "status": "valid", "createdAt": when(run.now)},
                "directory": directory, "location": location,
            });
            if let Some(tos) = tos {
                account["tos"] = json!(tos);
            }
            if let Value::Object(account) = account {
                run.world.documents.put(ACCOUNTS, &name, account);
            }
            Ok(())
        });
    call.start(task)
}

/// `PUT /cluster/acme/account/{name}`: new contacts; without any the account is read again.
pub(crate) fn update_account(call: &mut Call<'_>) -> Answer {
    let name = account_name(call);
    known_account(call, &name)?;
    let contact = call.params.has("contact").then(|| contact(call));
    let worker_type = if contact.is_some() { "acmeupdate" } else { "acmerefresh" };
    let task = call.task(worker_type, "").lasts(Duration::from_secs(1)).finish(move |run| {
        let account = run.world.documents.get_mut(ACCOUNTS, &name);
        let account = account.and_then(|account| account.get_mut("account"));
        if let (Some(account), Some(contact)) = (account, contact) {
            account["contact"] = json!(contact);
        }
        Ok(())
    });
    call.start(task)
}

/// `DELETE /cluster/acme/account/{name}`.
pub(crate) fn deactivate(call: &mut Call<'_>) -> Answer {
    let name = account_name(call);
    known_account(call, &name)?;
    let task = call.task("acmedeactivate", "").lasts(Duration::from_secs(1)).finish(move |run| {
        run.log(format!(
            "Renaming account file from '/etc/pve/priv/acme/{name}' to '/etc/pve/priv/acme/_deactivated_{name}_0'"
        ));
        run.world.documents.remove(ACCOUNTS, &name);
        Ok(())
    });
    call.start(task)
}

/// `GET /cluster/acme/directories`.
pub(crate) fn directories(_call: &mut Call<'_>) -> Answer {
    Ok(DIRECTORIES.iter().map(|(name, url)| json!({"name": name, "url": url})).collect::<Vec<_>>().into())
}

/// `GET /cluster/acme/tos`.
pub(crate) fn tos(_call: &mut Call<'_>) -> Answer {
    Ok(json!("https://letsencrypt.org/documents/LE-SA-v1.5-February-24-2025.pdf").into())
}

/// `GET /cluster/acme/meta`.
pub(crate) fn meta(_call: &mut Call<'_>) -> Answer {
    Ok(json!({
        "caaIdentities": ["letsencrypt.org"],
        "termsOfService": "https://letsencrypt.org/documents/LE-SA-v1.5-February-24-2025.pdf",
        "website": "https://letsencrypt.org",
    })
    .into())
}

/// `GET /cluster/acme/challenge-schema`: the plugins that there are, without the words about their fields.
pub(crate) fn challenge_schema(_call: &mut Call<'_>) -> Answer {
    let create = Catalog::embedded().get(Verb::Post, PLUGINS);
    let api = create.and_then(|method| parameter(method.parameters(), "api"));
    let names = api.map_or(&[][..], |api| &api.enumeration);
    let items = names.iter().map(|id| json!({"id": id, "name": id, "type": "dns", "schema": {}}));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/acme/plugins`: `standalone` is always there.
pub(crate) fn plugins(call: &mut Call<'_>) -> Answer {
    let wanted = call.params.get("type");
    let items = all_plugins(call).into_iter().map(|(id, plugin)| shown(call, &id, &plugin));
    let fits = |plugin: &Value| wanted.as_deref().is_none_or(|wanted| plugin["type"] == wanted);
    Ok(Data::from(items.filter(fits).collect::<Vec<_>>()))
}

/// `GET /cluster/acme/plugins/{id}`.
pub(crate) fn plugin(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let found = all_plugins(call).into_iter().find(|(name, _)| *name == id);
    let (_, plugin) = found.ok_or_else(|| format!("ACME plugin '{id}' not defined"))?;
    Ok(shown(call, &id, &plugin).into())
}

/// `POST /cluster/acme/plugins`.
pub(crate) fn add_plugin(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "priv_acme_plugins_cfg", |call| {
        let (id, kind) = (call.params.text("id"), call.params.text("type"));
        if all_plugins(call).iter().any(|(name, _)| *name == id) {
            return Err(Failure::die(format!("ACME plugin ID '{id}' already exists")));
        }
        let mut plugin = given(call);
        section_type(&kind)?.check_new(&plugin)?;
        plugin.insert("type".into(), json!(kind));
        forget_empty(&mut plugin);
        call.world.documents.put(PLUGINS, &id, plugin);
        Ok(Data::null())
    })
}

/// `PUT /cluster/acme/plugins/{id}`.
pub(crate) fn update_plugin(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "priv_acme_plugins_cfg", |call| {
        let id = call.params.text("id");
        call.check_digest(&call.world.documents.digest(PLUGINS))?;
        let found = all_plugins(call).into_iter().find(|(name, _)| *name == id);
        let (_, mut plugin) = found.ok_or_else(|| format!("ACME plugin ID '{id}' does not exist"))?;
        let types = section_type(plugin.get("type").and_then(Value::as_str).unwrap_or_default())?;
        let given = given(call);
        types.check_change(&given)?;
        types.delete(&mut plugin, &call.params.list("delete"), &given)?;
        plugin.extend(given);
        forget_empty(&mut plugin);
        call.world.documents.put(PLUGINS, &id, plugin);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/acme/plugins/{id}`.
pub(crate) fn delete_plugin(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "priv_acme_plugins_cfg", |call| {
        let id = call.params.text("id");
        match call.world.documents.remove(PLUGINS, &id) {
            Some(_) => Ok(Data::null()),
            None => Err(Failure::die(format!("ACME plugin ID '{id}' does not exist"))),
        }
    })
}

fn account_name(call: &Call<'_>) -> String {
    call.params.get("name").unwrap_or_else(|| "default".into())
}

fn known_account<'c>(call: &'c Call<'_>, name: &str) -> Result<&'c Map<String, Value>, Failure> {
    let text = || Failure::param("name", format!("ACME account config file '{name}' does not exist."));
    call.world.documents.get(ACCOUNTS, name).ok_or_else(text)
}

fn contact(call: &Call<'_>) -> Vec<String> {
    call.params.list("contact").into_iter().map(|address| format!("mailto:{address}")).collect()
}

fn when(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

fn all_plugins(call: &Call<'_>) -> Vec<(String, Map<String, Value>)> {
    let mut plugins = call.world.documents.list(PLUGINS).to_vec();
    if plugins.iter().all(|(id, _)| id != "standalone") {
        let builtin = Map::from_iter([("type".to_string(), json!("standalone"))]);
        plugins.push(("standalone".into(), builtin));
    }
    plugins
}

fn section_type(kind: &str) -> Result<&'static SectionType, Failure> {
    SectionType::named(&TYPES, kind).ok_or_else(|| Failure::die(format!("unknown section type '{kind}'")))
}

/// The properties of the call; the fields of a plugin come encoded and are kept as text.
fn given(call: &Call<'_>) -> Map<String, Value> {
    let mut given = stored(call.method, &call.params, &["id", "type", "delete", "digest"].map(str::to_string));
    if let Some(data) = given.get_mut("data") {
        let text = data.as_str().unwrap_or_default();
        let decoded = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        *data = json!(decoded.unwrap_or_else(|| text.to_string()));
    }
    given
}

fn shown(call: &Call<'_>, id: &str, plugin: &Map<String, Value>) -> Value {
    let mut item = plugin.clone();
    item.insert("plugin".into(), json!(id));
    item.insert("digest".into(), json!(call.world.documents.digest(PLUGINS)));
    Value::Object(item)
}
