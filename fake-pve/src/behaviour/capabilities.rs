//! `/nodes/{node}/capabilities/qemu`: what virtual machines can be on a node.

use serde_json::{Value, json};

use super::params::word;
use super::{Answer, Call, Data};

/// Processor models by vendor.
const MODELS: [(&str, &str); 3] = [
    (
        "GenuineIntel",
        "486 Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Cascadelake-Server Cascadelake-Server-noTSX \
         Cascadelake-Server-v2 Cascadelake-Server-v4 Cascadelake-Server-v5 ClearwaterForest ClearwaterForest-v2 \
         ClearwaterForest-v3 Conroe Cooperlake Cooperlake-v2 DiamondRapids GraniteRapids GraniteRapids-v2 \
         GraniteRapids-v3 GraniteRapids-v4 GraniteRapids-v5 Haswell Haswell-IBRS Haswell-noTSX Haswell-noTSX-IBRS \
         Icelake-Client Icelake-Client-noTSX Icelake-Server Icelake-Server-noTSX Icelake-Server-v3 Icelake-Server-v4 \
         Icelake-Server-v5 Icelake-Server-v6 Icelake-Server-v7 IvyBridge IvyBridge-IBRS KnightsMill Nehalem \
         Nehalem-IBRS Penryn SandyBridge SandyBridge-IBRS SapphireRapids SapphireRapids-v2 SapphireRapids-v3 \
         SapphireRapids-v4 SapphireRapids-v5 SapphireRapids-v6 SierraForest SierraForest-v2 SierraForest-v3 \
         SierraForest-v4 SierraForest-v5 Skylake-Client Skylake-Client-IBRS Skylake-Client-noTSX-IBRS \
         Skylake-Client-v4 Skylake-Server Skylake-Server-IBRS Skylake-Server-noTSX-IBRS Skylake-Server-v4 \
         Skylake-Server-v5 Westmere Westmere-IBRS core2duo coreduo pentium pentium2 pentium3",
    ),
    (
        "AuthenticAMD",
        "EPYC EPYC-Genoa EPYC-Genoa-v2 EPYC-IBPB EPYC-Milan EPYC-Milan-v2 EPYC-Milan-v3 EPYC-Rome EPYC-Rome-v2 \
         EPYC-Rome-v3 EPYC-Rome-v4 EPYC-Rome-v5 EPYC-Turin EPYC-v3 EPYC-v4 EPYC-v5 Opteron_G1 Opteron_G2 Opteron_G3 \
         Opteron_G4 Opteron_G5 athlon phenom",
    ),
    ("default", "host kvm32 kvm64 max qemu32 qemu64 x86-64-v2 x86-64-v2-AES x86-64-v3 x86-64-v4"),
];

const ARM_MODELS: &str = "a64fx cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a710 cortex-a72 cortex-a76 \
                          cortex-a78ae neoverse-n1 neoverse-n2 neoverse-v1";

/// Versions of machine types, newest first.
const VERSIONS: &str = "11.0+pve2 11.0+pve1 11.0 10.2 10.1 10.0+pve1 10.0 9.2+pve1 9.2 9.1 9.0 8.2 8.1 8.0 7.2 7.1 7.0 6.2 \
                        6.1 6.0 5.2 5.1 5.0 4.2 4.1+pve2 4.1+pve1 4.1 4.0 3.1 3.0 2.12 2.11 2.10 2.9 2.8 2.7 2.6 2.5 2.4";

/// What versions of Proxmox's own changed.
const CHANGES: [(&str, &str); 6] = [
    ("11.0+pve2", "hv_emcs on for recent Windows"),
    ("11.0+pve1", "host_tunnel off on VirtIO network devices"),
    ("10.0+pve1", "host_mtu always set on network devices"),
    ("9.2+pve1", "power states S3 and S4 off"),
    ("4.1+pve2", "more SCSI drives"),
    ("4.1+pve1", "first version with a number of Proxmox's own"),
];

/// Flags of processors that can be switched, with what they are for.
const FLAGS: [(&str, &str); 13] = [
    ("nested-virt", "virtual machines inside of the guest (svm, vmx)"),
    ("aes", "AES instructions"),
    ("amd-no-ssb", "AMD: not open to speculative store bypass"),
    ("amd-ssbd", "AMD: can switch speculative store bypass off"),
    ("hv-evmcs", "Hyper-V: enlightened VMCS"),
    ("hv-tlbflush", "Hyper-V: flushing of other processors' TLB"),
    ("ibpb", "AMD: barrier against branch prediction across contexts"),
    ("md-clear", "clears buffers against data sampling"),
    ("pcid", "makes the mending of Meltdown cheaper"),
    ("pdpe1gb", "pages of one gigabyte"),
    ("spec-ctrl", "Intel: mending of Spectre"),
    ("ssbd", "Intel: can switch speculative store bypass off"),
    ("virt-ssbd", "AMD: the same through a virtual register"),
];

/// `GET …/qemu/cpu`: built-in models, and those of the cluster's own.
pub(crate) fn cpu(call: &mut Call<'_>) -> Answer {
    if is_arm(call) {
        let models = ARM_MODELS.split_whitespace().map(|name| json!({"custom": 0, "name": name, "vendor": "ARM"}));
        let max = json!({"custom": 0, "name": "max", "vendor": "default"});
        return Ok(Data::from(models.chain([max]).collect::<Vec<_>>()));
    }
    let built_in = MODELS.iter().flat_map(|(vendor, names)| {
        names.split_whitespace().map(move |name| {
            let mut model = json!({"custom": 0, "name": name, "vendor": vendor});
            if name.starts_with("x86-64-v") {
                model["abstract"] = json!(1);
            }
            model
        })
    });
    let mut models: Vec<Value> = built_in.collect();
    if call.may("/nodes", &["Sys.Audit"]) {
        for (name, model) in call.world.documents.list("/cluster/qemu/custom-cpu-models") {
            let reported = word(model, "reported-model");
            let vendor = MODELS.iter().find(|(_, names)| names.split_whitespace().any(|known| known == reported));
            models.push(json!({
                "custom": 1, "name": format!("custom-{name}"), "vendor": vendor.map_or("default", |(vendor, _)| vendor),
            }));
        }
    }
    Ok(Data::from(models))
}

/// `GET …/qemu/cpu-flags`.
pub(crate) fn cpu_flags(call: &mut Call<'_>) -> Answer {
    if is_arm(call) {
        return Ok(Data::from(Vec::new()));
    }
    let nodes = call.world.nodes.iter().filter(|(_, node)| node.online);
    let nodes: Vec<&String> = nodes.map(|(name, _)| name).collect();
    let flags = FLAGS
        .iter()
        .map(|(name, description)| json!({"name": name, "description": description, "supported-on": nodes}));
    Ok(Data::from(flags.collect::<Vec<_>>()))
}

/// `GET …/qemu/machines`.
pub(crate) fn machines(call: &mut Call<'_>) -> Answer {
    let kinds: &[(&str, &str)] =
        if is_arm(call) { &[("virt", "virt")] } else { &[("i440fx", "pc-i440fx"), ("q35", "pc-q35")] };
    let versions = VERSIONS.split_whitespace().filter(|version| !is_arm(call) || !version.starts_with("2."));
    let machines = versions.flat_map(|version| {
        kinds.iter().map(move |(kind, prefix)| {
            let mut machine = json!({"id": format!("{prefix}-{version}"), "type": kind, "version": version});
            if let Some((_, changes)) = CHANGES.iter().find(|(changed, _)| *changed == version) {
                machine["changes"] = json!(changes);
            }
            machine
        })
    });
    Ok(Data::from(machines.collect::<Vec<_>>()))
}

/// `GET …/qemu/migration`: the helper that carries connection states along is not installed.
pub(crate) fn migration(_call: &mut Call<'_>) -> Answer {
    Ok(json!({"has-dbus-vmstate": false}).into())
}

fn is_arm(call: &Call<'_>) -> bool {
    call.params.get("arch").as_deref() == Some("aarch64")
}
