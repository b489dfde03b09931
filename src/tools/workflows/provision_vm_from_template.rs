//! `pve_provision_vm_from_template`: a VM cloned from a template: cloud-init, disk, start, agent.

use pve_catalog::Verb;
use serde_json::{Map, Value, json};

use super::guest::{self, Guest, Kind};
use super::network;
use super::node;
use super::reading::{foreign, is_on, text};
use super::steps::{self, State, Steps};
use super::{LONGEST_WAIT, MOST_VMID, changes};
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const STEPS: &[&str] = &["template", "clone", "configure", "resize", "start", "agent"];

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("template", 100, MOST_VMID, "vmid of the template").required(),
    Parameter::text("name", "").required(),
    Parameter::integer("vmid", 100, MOST_VMID, "default: a free one"),
    Parameter::text("node", "default: where the template is"),
    Parameter::flag("full", "a whole copy; default: linked, but with storage"),
    Parameter::text("storage", "of the copy"),
    Parameter::integer("cores", 1, 8192, ""),
    Parameter::integer("memory", 16, 10_000_000, "MiB"),
    Parameter::integer("disk_gib", 1, 100_000, "grow the boot disk to so much"),
    Parameter::text("ip", "dhcp or an address with prefix; needs a cloud-init drive"),
    Parameter::text("gw", ""),
    Parameter::text("nameserver", ""),
    Parameter::text("searchdomain", ""),
    Parameter::text("ciuser", ""),
    Parameter::text("cipassword", ""),
    Parameter::texts("ssh_public_keys", ""),
    Parameter::text("tags", ""),
    Parameter::text("description", ""),
    Parameter::text("pool", ""),
    Parameter::flag("onboot", ""),
    Parameter::flag("start", "default true"),
    Parameter::flag("wait_agent", "default true: until it tells an address"),
    Parameter::integer("wait_seconds", 0, LONGEST_WAIT, "for all steps together"),
    Parameter::flag("dry_run", "answers the plan"),
];

/// Arguments that only cloud-init reads.
const CLOUD_INIT: [&str; 6] = ["ip", "nameserver", "searchdomain", "ciuser", "cipassword", "ssh_public_keys"];

/// The tool.
pub fn tool() -> Tool {
    changes(
        "pve_provision_vm_from_template",
        "Clone a template VM in steps: free id, cloud-init, disk, start, agent; never replaces or deletes",
        false,
        PARAMETERS,
        steps::schema,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

/// The template, and what its configuration says.
struct Template {
    guest: Guest,
    config: Value,
    /// `scsi0` and its size in GiB, where they are known.
    disk: Option<(String, Option<f64>)>,
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let mut steps = Steps::new(ctx, STEPS, given.integer("wait_seconds"), given.flag("dry_run").unwrap_or(false));
    sensible(&given)?;
    let template = look_up(ctx, &given).await?;
    let node = given.text("node").unwrap_or(&template.guest.node).to_string();
    node::standing(&node::all(ctx).await?, &node)?;
    let resize = growth(&template, &given)?;
    template.describe(&mut steps, &given);

    let request = |vmid: u32| clone_arguments(&given, &template.guest, vmid, &node);
    let (vmid, state) =
        steps.create("clone", given.integer("vmid"), "/nodes/{node}/qemu/{vmid}/clone", request).await?;
    let name = given.text("name").map(foreign);
    let facts = |ip: Option<String>| json!({"vmid": vmid, "node": node, "name": name, "ip": ip});
    if state != State::Planned {
        steps.created(json!({"vmid": vmid, "type": "qemu", "node": node, "name": name}));
    }
    if !state.goes_on() {
        return Ok(steps.reply(facts(None)));
    }
    let whom = json!({"node": node, "vmid": vmid}).as_object().cloned().unwrap_or_default();
    let options = options(&given);
    if options.is_empty() {
        steps.take("configure", State::Skipped, "nothing was asked for");
    } else {
        let arguments = whom.clone().into_iter().chain(options).collect();
        steps.send("configure", "", Verb::Put, "/nodes/{node}/qemu/{vmid}/config", arguments).await?;
    }
    match resize {
        None => steps.take("resize", State::Skipped, "the disk stays as large as the template's"),
        Some((disk, size)) => {
            let mut arguments = whom.clone();
            arguments.insert("disk".into(), disk.clone().into());
            arguments.insert("size".into(), format!("{size}G").into());
            let says = format!("{disk} to {size} GiB");
            let state = steps.send("resize", &says, Verb::Put, "/nodes/{node}/qemu/{vmid}/resize", arguments).await?;
            if !state.goes_on() {
                return Ok(steps.reply(facts(None)));
            }
        }
    }
    if given.flag("start") == Some(false) {
        steps.take("start", State::Skipped, "not wanted");
        steps.take("agent", State::Skipped, "it is not started");
        return Ok(steps.reply(facts(None)));
    }
    let state = steps.send("start", "", Verb::Post, "/nodes/{node}/qemu/{vmid}/status/start", whom).await?;
    if !state.goes_on() {
        return Ok(steps.reply(facts(None)));
    }
    let ip = agent(ctx, &mut steps, &Guest::new(vmid, Kind::Vm, &node), &template, &given).await;
    Ok(steps.reply(facts(ip)))
}

fn sensible(given: &Given) -> Result<(), Fault> {
    let refuse = |name: &str, message: &str| Err(Fault::argument(name, message).hint("nothing was created"));
    if given.text("storage").is_some() && given.flag("full") == Some(false) {
        return refuse("storage", "a linked clone stays where its template lies: leave full or storage out");
    }
    if given.text("gw").is_some() && given.text("ip").is_none_or(|ip| ip == "dhcp") {
        return refuse("gw", "goes with an address of its own in ip");
    }
    match ["ip", "gw"].into_iter().find(|name| given.text(name).is_some_and(|value| value.contains([',', '=']))) {
        Some(name) => refuse(name, "takes one plain value"),
        None => Ok(()),
    }
}

async fn look_up(ctx: &Ctx, given: &Given) -> Result<Template, Fault> {
    let guest = guest::one(ctx, given.integer("template").unwrap_or_default()).await?;
    if guest.kind != Kind::Vm || !guest.template {
        let what = if guest.kind == Kind::Vm { "is a VM, but no template" } else { "is a container" };
        let fault = Fault::argument("template", format!("{guest} {what}"));
        return Err(fault.hint("nothing was created; pve_find_guest shows which guests are templates"));
    }
    let config = guest.read(ctx, "/config").await?;
    let disk = boot_disk(&config);
    Ok(Template { guest, config, disk })
}

impl Template {
    /// The first step: what was found, and what of the arguments it cannot serve.
    fn describe(&self, steps: &mut Steps<'_>, given: &Given) {
        let drive = self
            .config
            .as_object()
            .into_iter()
            .flatten()
            .any(|(_, value)| value.as_str().is_some_and(|text| text.contains("cloudinit")));
        let asked = CLOUD_INIT.iter().find(|name| given.text(name).is_some() || !given.texts(name).is_empty());
        match asked.filter(|_| !drive) {
            None => steps.take("template", State::Done, self.guest.to_string()),
            Some(name) => {
                let says = format!("{} has no cloud-init drive: '{name}' is stored and does nothing", self.guest);
                steps.take("template", State::Warning, says);
            }
        }
    }

    fn has_agent(&self) -> bool {
        let option = text(&self.config, "agent").unwrap_or_default();
        is_on(&self.config, "agent")
            || option.split(',').any(|part| matches!(part, "1" | "enabled=1" | "enabled=yes" | "enabled=on"))
    }
}

/// The disk that the VM boots from: the first of its boot order, else the first that there is.
fn boot_disk(config: &Value) -> Option<(String, Option<f64>)> {
    let order = text(config, "boot").and_then(|boot| boot.split(',').find_map(|part| part.strip_prefix("order=")));
    let usual = "scsi0;virtio0;sata0;ide0";
    let names = order.unwrap_or_default().split(';').chain(usual.split(';'));
    let disks = names.filter_map(|name| Some((name, text(config, name)?)));
    let (name, disk) = disks.into_iter().find(|(name, disk)| {
        !name.starts_with("net") && !disk.contains("media=cdrom") && !disk.contains("cloudinit")
    })?;
    let size = disk.split(',').find_map(|part| part.strip_prefix("size="));
    Some((name.to_string(), size.and_then(gib)))
}

/// `8G` -> 8.
fn gib(size: &str) -> Option<f64> {
    let (digits, unit) = size.split_at(size.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(size.len()));
    let number: f64 = digits.parse().ok()?;
    Some(match unit {
        "T" => number * 1024.0,
        "G" => number,
        "M" => number / 1024.0,
        "K" => number / (1024.0 * 1024.0),
        _ => number / (1024.0 * 1024.0 * 1024.0),
    })
}

/// Which disk to grow to how many GiB. A disk never shrinks: that is refused before anything is made.
fn growth(template: &Template, given: &Given) -> Result<Option<(String, i64)>, Fault> {
    let Some(wanted) = given.integer("disk_gib") else { return Ok(None) };
    let refuse = |message: String| Err(Fault::argument("disk_gib", message).hint("nothing was created"));
    match &template.disk {
        None => refuse(format!("{} has no disk that could grow", template.guest)),
        Some((disk, Some(has))) if (wanted as f64) < *has => {
            refuse(format!("{disk} of {} has {has} GiB already: a disk cannot shrink", template.guest))
        }
        Some((_, Some(has))) if (wanted as f64) == *has => Ok(None),
        Some((disk, _)) => Ok(Some((disk.clone(), wanted))),
    }
}

fn clone_arguments(given: &Given, template: &Guest, vmid: u32, node: &str) -> Map<String, Value> {
    let mut request = template.arguments();
    request.insert("newid".into(), vmid.into());
    for key in ["name", "storage", "description", "pool"] {
        request.extend(given.text(key).map(|value| (key.to_string(), value.into())));
    }
    // A linked clone takes no storage.
    let full = given.flag("full").or(given.text("storage").map(|_| true));
    request.extend(full.map(|full| ("full".to_string(), full.into())));
    if node != template.node {
        request.insert("target".into(), node.into());
    }
    request
}

/// What the copy is to have otherwise than its template.
fn options(given: &Given) -> Map<String, Value> {
    let mut options = Map::new();
    for key in ["cores", "memory"] {
        options.extend(given.integer(key).map(|value| (key.to_string(), value.into())));
    }
    for key in ["nameserver", "searchdomain", "ciuser", "cipassword", "tags"] {
        options.extend(given.text(key).map(|value| (key.to_string(), value.into())));
    }
    options.extend(given.flag("onboot").map(|on| ("onboot".to_string(), on.into())));
    if let Some(ip) = given.text("ip") {
        let gw = given.text("gw").map(|gw| format!(",gw={gw}")).unwrap_or_default();
        options.insert("ipconfig0".into(), format!("ip={ip}{gw}").into());
    }
    let keys = given.texts("ssh_public_keys");
    if !keys.is_empty() {
        options.insert("sshkeys".into(), keys.into());
    }
    options
}

/// The last step. That the agent does not answer yet does not undo what was made.
async fn agent(ctx: &Ctx, steps: &mut Steps<'_>, guest: &Guest, template: &Template, given: &Given) -> Option<String> {
    if given.flag("wait_agent") == Some(false) {
        steps.take("agent", State::Skipped, "not wanted");
        return None;
    }
    if !template.has_agent() {
        steps.take("agent", State::Skipped, "the template has the agent switched off (option agent)");
        return None;
    }
    if steps.is_dry() {
        steps.take("agent", State::Planned, "asks the agent for the address");
        return None;
    }
    let config = guest.read(ctx, "/config").await.unwrap_or_default();
    match network::awaited(ctx, guest, network::first_mac(&config).as_deref(), steps.until()).await {
        Ok(Some(address)) => {
            steps.take("agent", State::Done, format!("{} on {}", address.ip, address.interface));
            Some(address.ip.to_string())
        }
        Ok(None) => {
            steps.take("agent", State::Warning, "the agent answers, but tells no address yet");
            None
        }
        Err(fault) => {
            steps.take("agent", State::Warning, format!("it does not answer yet: {}", foreign(&fault.message)));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_disk_is_no_network_card_and_no_cd() {
        let config = json!({
            "boot": "order=net0;ide2;virtio0", "net0": "virtio=…", "ide2": "local:iso/x.iso,media=cdrom",
            "virtio0": "local-lvm:base-9000-disk-0,size=2252M", "scsi0": "local-lvm:other,size=1T",
        });
        assert_eq!(
            boot_disk(&config).map(|(name, size)| (name, size.map(f64::round))),
            Some(("virtio0".into(), Some(2.0)))
        );
        assert_eq!(boot_disk(&json!({"scsi0": "local:vm,size=1T"})), Some(("scsi0".into(), Some(1024.0))));
        assert_eq!(boot_disk(&json!({"ide0": "local:cloudinit"})), None);
    }
}
