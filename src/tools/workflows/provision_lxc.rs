//! `pve_provision_lxc`: a new container: number, template, network, keys, start, address.

use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value, json};

use super::guest::{Guest, Kind};
use super::network;
use super::node;
use super::reading::{answer, foreign, rows, text};
use super::steps::{self, State, Steps};
use super::storage::{self, Storage};
use super::{LONGEST_WAIT, MOST_VMID, changes};
use crate::error::{Code, Fault};
use crate::tools::arguments::node as node_argument;
use crate::tools::nearest::{nearest, question};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const STEPS: &[&str] = &["template", "create", "start", "address"];

const PARAMETERS: &[Parameter] = &[
    Parameter::text("hostname", "").required(),
    Parameter::text("ostemplate", "a volume such as local:vztmpl/…, or a template's name, downloaded where needed")
        .required(),
    Parameter::integer("vmid", 100, MOST_VMID, "default: a free one"),
    Parameter::text("node", ""),
    Parameter::text("storage", "of the root disk; default: the one with most room"),
    Parameter::text("template_storage", "to download to"),
    Parameter::integer("disk_gib", 1, 100_000, "default 8"),
    Parameter::integer("memory", 16, 10_000_000, "MiB; default 512"),
    Parameter::integer("swap", 0, 10_000_000, "MiB"),
    Parameter::integer("cores", 1, 8192, "default 1"),
    Parameter::text("bridge", "default vmbr0"),
    Parameter::text("ip", "dhcp (default), manual or an address with prefix"),
    Parameter::text("gw", ""),
    Parameter::integer("vlan", 1, 4094, ""),
    Parameter::flag("firewall", "on the network device"),
    Parameter::text("nameserver", ""),
    Parameter::texts("ssh_public_keys", ""),
    Parameter::text("password", "of root"),
    Parameter::flag("unprivileged", "default true; false needs the gate elevated"),
    Parameter::flag("nesting", ""),
    Parameter::text("tags", ""),
    Parameter::text("description", ""),
    Parameter::text("pool", ""),
    Parameter::flag("onboot", ""),
    Parameter::flag("start", "default true"),
    Parameter::integer("wait_seconds", 0, LONGEST_WAIT, "for all steps together"),
    Parameter::flag("dry_run", "answers the plan"),
];

/// The tool.
pub fn tool() -> Tool {
    changes(
        "pve_provision_lxc",
        "Create a container in steps: template, free id, network, SSH keys, start, address; never replaces or deletes",
        false,
        PARAMETERS,
        steps::schema,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let mut steps = Steps::new(ctx, STEPS, given.integer("wait_seconds"), given.flag("dry_run").unwrap_or(false));
    let node = home(ctx, &given).await?;
    let storages: Vec<Storage> = storage::all(ctx).await?.into_iter().filter(|one| one.is_on(&node)).collect();
    let disk_storage = place(&storages, "rootdir", given.text("storage"), "storage")?;
    let net = network_device(&given)?;
    let hostname = given.text("hostname").unwrap_or_default();
    let facts = |vmid: Option<u32>, ip: Option<String>| json!({"vmid": vmid, "node": node, "name": foreign(hostname), "ip": ip});

    let Some(ostemplate) = template(ctx, &mut steps, &node, &storages, &given).await? else {
        return Ok(steps.reply(facts(None, None)));
    };
    let request = |vmid: u32| arguments(&given, &node, vmid, &ostemplate, &disk_storage, &net);
    let (vmid, state) = steps.create("create", given.integer("vmid"), "/nodes/{node}/lxc", request).await?;
    let made = json!({"vmid": vmid, "type": "lxc", "node": node, "name": foreign(hostname)});
    if state != State::Planned {
        steps.created(made);
    }
    if !state.goes_on() {
        return Ok(steps.reply(facts(Some(vmid), None)));
    }
    if given.flag("start") == Some(false) {
        steps.take("start", State::Skipped, "not wanted");
        steps.take("address", State::Skipped, "it is not started");
        return Ok(steps.reply(facts(Some(vmid), None)));
    }
    let whom = json!({"node": node, "vmid": vmid}).as_object().cloned().unwrap_or_default();
    let state = steps.send("start", "", Verb::Post, "/nodes/{node}/lxc/{vmid}/status/start", whom).await?;
    if !state.goes_on() {
        return Ok(steps.reply(facts(Some(vmid), None)));
    }
    let guest = Guest::new(vmid, Kind::Lxc, &node);
    let ip = address(ctx, &mut steps, &guest).await;
    Ok(steps.reply(facts(Some(vmid), ip)))
}

/// The node: the one named, the default one or the only one; it must be there and answer.
async fn home(ctx: &Ctx, given: &Given) -> Result<String, Fault> {
    let nodes = node::all(ctx).await?;
    let name = match given.text("node") {
        Some(name) => name.to_string(),
        None => {
            let method = Catalog::embedded().get(Verb::Post, "/nodes/{node}/lxc");
            let method = method.ok_or_else(|| Fault::new(Code::Internal, "containers cannot be made"))?;
            node_argument::find(method, &Map::new(), ctx).await?.unwrap_or_default()
        }
    };
    node::standing(&nodes, &name)?;
    Ok(name)
}

/// The storage for a kind of content: the one named, or the one with most room.
fn place(storages: &[Storage], content: &str, named: Option<&str>, argument: &str) -> Result<String, Fault> {
    let fitting: Vec<&Storage> = storages.iter().filter(|one| one.holds(content) && one.available).collect();
    let names = || fitting.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(named) = named {
        let found = fitting.iter().any(|one| one.name == named);
        let refuse = || {
            Fault::argument(
                argument,
                format!("no storage '{named}' of that node takes {content}: there are {}", names()),
            )
        };
        return if found { Ok(named.to_string()) } else { Err(refuse().hint("nothing was created")) };
    }
    let roomy = fitting.iter().max_by(|one, other| {
        let room = |one: &Storage| one.total - one.used;
        room(one).total_cmp(&room(other)).then_with(|| other.name.cmp(&one.name))
    });
    let none =
        || Fault::new(Code::NotFound, format!("no storage of that node takes {content}")).hint("nothing was created");
    roomy.map(|one| one.name.clone()).ok_or_else(none)
}

/// `name=eth0,bridge=vmbr0,ip=dhcp`.
fn network_device(given: &Given) -> Result<String, Fault> {
    let ip = given.text("ip").unwrap_or("dhcp");
    if given.text("gw").is_some() && matches!(ip, "dhcp" | "manual") {
        return Err(Fault::argument("gw", "goes with an address of its own in ip").hint("nothing was created"));
    }
    if let Some((key, _)) = [("bridge", given.text("bridge")), ("ip", Some(ip)), ("gw", given.text("gw"))]
        .into_iter()
        .find(|(_, value)| value.is_some_and(|value| value.contains([',', '='])))
    {
        return Err(Fault::argument(key, "takes one plain value").hint("nothing was created"));
    }
    let mut net = format!("name=eth0,bridge={},ip={ip}", given.text("bridge").unwrap_or("vmbr0"));
    net.extend(given.text("gw").map(|gw| format!(",gw={gw}")));
    net.extend(given.integer("vlan").map(|vlan| format!(",tag={vlan}")));
    net.extend(given.flag("firewall").map(|on| format!(",firewall={}", u8::from(on))));
    Ok(net)
}

/// The volume to make the container from; `None` while its download goes on.
async fn template(
    ctx: &Ctx,
    steps: &mut Steps<'_>,
    node: &str,
    storages: &[Storage],
    given: &Given,
) -> Result<Option<String>, Fault> {
    let wanted = given.text("ostemplate").unwrap_or_default();
    let here = templates(ctx, node, storages).await.map_err(|fault| steps.failed("template", fault))?;
    let name = |volid: &str| volid.rsplit('/').next().unwrap_or(volid).to_string();
    let fits = |volid: &&String| **volid == wanted || (!wanted.contains(':') && name(volid).starts_with(wanted));
    // Of several versions the newest: their names differ in the version only.
    if let Some(volid) = here.iter().filter(fits).max() {
        steps.take("template", State::Done, volid.as_str());
        return Ok(Some(volid.clone()));
    }
    if wanted.contains(':') {
        let near = question(&nearest(wanted, here.iter().map(String::as_str), 2)).unwrap_or_default();
        let fault = Fault::new(Code::NotFound, format!("there is no template {} on node {node}", foreign(wanted)));
        return Err(steps.failed("template", fault.hint(near).detail("templates", here)));
    }
    let offered = rows(ctx, "/nodes/{node}/aplinfo", &[("node", node)], &[]).await;
    let offered = offered.map_err(|fault| steps.failed("template", fault))?;
    let names: Vec<&str> = offered.iter().filter_map(|row| text(row, "template")).collect();
    let Some(file) = names.iter().filter(|name| name.starts_with(wanted)).max() else {
        let near = question(&nearest(wanted, names.iter().copied(), 3))
            .unwrap_or_else(|| "list them with pve_list_appliance_templates".into());
        let fault = Fault::new(Code::NotFound, format!("no template is called {}", foreign(wanted))).hint(near);
        return Err(steps.failed("template", fault.detail("templates", here)));
    };
    let to = place(storages, "vztmpl", given.text("template_storage"), "template_storage")?;
    let arguments = json!({"node": node, "storage": to, "template": file}).as_object().cloned().unwrap_or_default();
    let volid = format!("{to}:vztmpl/{file}");
    let state =
        steps.send("template", &format!("downloaded {volid}"), Verb::Post, "/nodes/{node}/aplinfo", arguments).await?;
    if matches!(state, State::Done | State::Warning) {
        steps.created(json!({"volid": volid}));
    }
    Ok(state.goes_on().then_some(volid))
}

/// The templates that a node has.
async fn templates(ctx: &Ctx, node: &str, storages: &[Storage]) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for storage in storages.iter().filter(|one| one.holds("vztmpl") && one.available) {
        let values = [("node", node), ("storage", storage.name.as_str())];
        let listed = answer(ctx, "/nodes/{node}/storage/{storage}/content", &values, &[("content", "vztmpl")]).await?;
        all.extend(
            listed.data.as_array().into_iter().flatten().filter_map(|row| text(row, "volid")).map(str::to_string),
        );
    }
    Ok(all)
}

fn arguments(given: &Given, node: &str, vmid: u32, ostemplate: &str, storage: &str, net: &str) -> Map<String, Value> {
    let disk = given.integer("disk_gib").unwrap_or(8);
    let request = json!({
        "node": node, "vmid": vmid, "ostemplate": ostemplate, "hostname": given.text("hostname"),
        "rootfs": format!("{storage}:{disk}"), "memory": given.integer("memory").unwrap_or(512),
        "cores": given.integer("cores").unwrap_or(1), "net0": net,
        // Left out, Proxmox would make a privileged one.
        "unprivileged": given.flag("unprivileged").unwrap_or(true),
    });
    let mut request = request.as_object().cloned().unwrap_or_default();
    request.extend(given.integer("swap").map(|swap| ("swap".to_string(), swap.into())));
    for key in ["nameserver", "password", "tags", "description", "pool"] {
        request.extend(given.text(key).map(|value| (key.to_string(), value.into())));
    }
    request.extend(given.flag("onboot").map(|on| ("onboot".to_string(), on.into())));
    request
        .extend(given.flag("nesting").map(|on| ("features".to_string(), format!("nesting={}", u8::from(on)).into())));
    let keys = given.texts("ssh_public_keys");
    if !keys.is_empty() {
        request.insert("ssh-public-keys".into(), keys.into());
    }
    request
}

/// The last step. That there is no address yet does not undo what was made.
async fn address(ctx: &Ctx, steps: &mut Steps<'_>, guest: &Guest) -> Option<String> {
    if steps.is_dry() {
        steps.take("address", State::Planned, "asks the container for its address");
        return None;
    }
    let config = guest.read(ctx, "/config").await.unwrap_or_default();
    match network::awaited(ctx, guest, network::first_mac(&config).as_deref(), steps.until()).await {
        Ok(Some(address)) => {
            steps.take("address", State::Done, format!("{} on {}", address.ip, address.interface));
            Some(address.ip.to_string())
        }
        Ok(None) => {
            steps.take(
                "address",
                State::Warning,
                "it has no address yet: ask again with pve_find_guest or raise wait_seconds",
            );
            None
        }
        Err(fault) => {
            steps.take("address", State::Warning, format!("its address cannot be read: {}", foreign(&fault.message)));
            None
        }
    }
}
