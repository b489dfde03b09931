//! The world in which the recording was made.

use std::sync::LazyLock;

use fake_pve::World;
use fake_pve::import_etc::{Files, import_files};
use fake_pve::world::Volume;
use serde::Deserialize;

/// When most of the recording was made, in seconds: 2026-11-30 19:52:17 UTC.
pub const MOMENT: i64 = 1_796_068_337;

#[derive(Deserialize)]
struct Seed {
    /// Configuration files of the seed.
    files: Files,
    /// Those that differ in the seed with more objects.
    more: Files,
    /// What lay on the storage `local` of the first node.
    volumes: Vec<Volume>,
}

static SEED: LazyLock<Seed> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/replay/seed.json")).expect("the seed"));

static WORLD: LazyLock<World> = LazyLock::new(|| made(&SEED.files));

static WITH_MORE: LazyLock<World> = LazyLock::new(|| {
    let mut files = SEED.files.clone();
    files.extend(SEED.more.clone());
    made(&files)
});

/// A fresh copy of the seed.
pub fn world() -> World {
    WORLD.clone()
}

/// A fresh copy of the seed with more objects.
pub fn world_with_more() -> World {
    WITH_MORE.clone()
}

/// What files cannot tell: the third node is off, each has two processors, no manager of HA ran, and what lies on the storage.
fn made(files: &Files) -> World {
    let mut world = import_files(files).scenario.offline("pve3").world;
    world.release.repoid = "14a22df35955d97d".into();
    for node in world.nodes.values_mut() {
        node.cpus = 2;
        for manager in ["pve-ha-crm", "pve-ha-lrm"] {
            node.services.insert(manager.into(), "stopped".into());
        }
    }
    for volume in &SEED.volumes {
        world.put_volume("pve1", volume.clone());
    }
    world
}
