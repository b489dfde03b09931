//! `/nodes/{node}/hardware`: devices of a node. Every node has the same ones.

use serde_json::{Value, json};

use super::{Answer, Call, Data, Failure};

/// An identifier and what it is called.
type Named = (&'static str, &'static str);

/// Address, class, vendor and device with their names, IOMMU group.
const PCI: [(&str, &str, Named, Named, i64); 5] = [
    ("0000:00:00.0", "0x060000", ("0x8086", "Intel Corporation"), ("0x29c0", "82G33 DRAM Controller"), 0),
    ("0000:00:02.0", "0x030000", ("0x8086", "Intel Corporation"), ("0x4680", "UHD Graphics 770"), 1),
    ("0000:01:00.0", "0x030000", ("0x10de", "NVIDIA Corporation"), ("0x25b6", "A2 / A16"), 12),
    ("0000:02:00.0", "0x010802", ("0x144d", "Samsung Electronics Co Ltd"), ("0xa80a", "NVMe SSD Controller"), 13),
    ("0000:03:00.0", "0x020000", ("0x8086", "Intel Corporation"), ("0x1533", "I210 Gigabit Network Connection"), 14),
];

/// `GET …/pci`: without the classes that nobody hands to a guest, unless asked for.
pub(crate) fn pci(call: &mut Call<'_>) -> Answer {
    let hidden = match call.params.has("pci-class-blacklist") {
        true => call.params.list("pci-class-blacklist"),
        false => ["05", "06", "0b"].map(String::from).into(),
    };
    let verbose = call.params.flag("verbose") != Some(false);
    let shown =
        PCI.iter().filter(|(_, class, ..)| !hidden.iter().any(|hidden| class[2..].starts_with(hidden.as_str())));
    let items = shown.map(|(id, class, vendor, device, group)| {
        if !verbose {
            return json!({"id": id, "class": class, "vendor": vendor.0, "device": device.0, "iommugroup": group});
        }
        json!({
            "id": id, "class": class, "vendor": vendor.0, "device": device.0, "iommugroup": group,
            "vendor_name": vendor.1, "device_name": device.1, "subsystem_vendor": vendor.0,
            "subsystem_vendor_name": vendor.1, "subsystem_device": "0x0000",
        })
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET …/pci/{pci-id-or-mapping}/mdev`: no device here can be divided. A mapping must exist and have one here.
pub(crate) fn mdev(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("pci-id-or-mapping");
    let mapping = call.world.documents.get("/cluster/mapping/pci", &id);
    if let Some(mapping) = mapping {
        let here = format!("node={}", call.node());
        let parts = mapping.get("map").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mapped = parts.into_iter().any(|part| part.split(',').any(|pair| pair == here));
        if !mapped {
            return Err(Failure::die(format!("mapping '{id}' not found on '{}'", call.node())));
        }
    }
    Ok(Data::from(Vec::new()))
}

/// `GET …/usb`.
pub(crate) fn usb(_call: &mut Call<'_>) -> Answer {
    Ok(json!([
        {
            "busnum": 1, "devnum": 1, "class": 9, "level": 0, "port": 0, "prodid": "0002", "vendid": "1d6b",
            "speed": "480", "manufacturer": "Linux 6.17.4-2-pve xhci-hcd", "product": "xHCI Host Controller",
            "serial": "0000:00:14.0",
        },
        {
            "busnum": 1, "devnum": 2, "class": 0, "level": 1, "port": 3, "prodid": "5583", "vendid": "0781",
            "speed": "480", "usbpath": "4", "manufacturer": "SanDisk", "product": "Ultra Fit", "serial": "4C530001",
        },
    ])
    .into())
}
