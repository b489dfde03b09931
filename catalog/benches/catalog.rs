//! Loading the catalogue and finding methods in it.

use divan::{Bencher, black_box};
use pve_catalog::{Catalog, Verb};

fn main() {
    divan::main();
}

/// What every process pays once.
#[divan::bench]
fn ready() -> Catalog {
    Catalog::decode(black_box(Catalog::embedded_bytes()))
}

/// Every body, as a list of all tools needs them.
#[divan::bench]
fn all_schemas() -> usize {
    let catalog = Catalog::decode(black_box(Catalog::embedded_bytes()));
    catalog.methods().iter().map(|method| method.parameters().properties.0.len()).sum()
}

#[divan::bench(args = ["/nodes/pve1/qemu/100/config", "/cluster/firewall/ipset/a/10.0.0.0/8", "/nope/nope"])]
fn find(bencher: Bencher, path: &str) {
    let catalog = Catalog::embedded();
    bencher.bench(|| catalog.find(Verb::Get, black_box(path)).is_some());
}

#[divan::bench]
fn by_tool(bencher: Bencher) {
    let catalog = Catalog::embedded();
    bencher.bench(|| catalog.by_tool(black_box("pve_update_vm_config")).is_some());
}
