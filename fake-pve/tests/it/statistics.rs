//! Statistics: columns, steps, gaps where nothing ran, and the same figures whenever they are asked for.

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::Value;

use crate::client::Api;
use crate::task::run;

async fn cluster(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

async fn rows(api: &Api, path: &str) -> Vec<Value> {
    api.get(path).await.data().as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_running_machine_has_values_and_a_stopped_one_gaps() {
    let (pve, api) = cluster(Scenario::one_vm().running(100).vm(101, "pve1", serde_json::json!({}))).await;
    let hour = rows(&api, "/nodes/pve1/qemu/100/rrddata?timeframe=hour").await;
    assert_eq!(hour.len(), 60);
    for (before, after) in hour.iter().zip(&hour[1..]) {
        assert_eq!(after["time"].as_i64().zip(before["time"].as_i64()).map(|(a, b)| a - b), Some(60));
    }
    for row in &hour {
        let cpu = row["cpu"].as_f64().expect("a load");
        assert!((0.0..=1.0).contains(&cpu), "{row}");
        for key in ["maxcpu", "maxmem", "mem", "netin", "netout", "diskread", "diskwrite", "memhost", "maxdisk"] {
            assert!(row[key].as_f64() > Some(0.0), "{key} {row}");
        }
    }
    let off = rows(&api, "/nodes/pve1/qemu/101/rrddata?timeframe=hour").await;
    assert!(off.iter().all(|row| row.get("cpu").is_none() && row["maxmem"].is_f64()), "{}", off[0]);
    let again = rows(&api, "/nodes/pve1/qemu/100/rrddata?timeframe=hour").await;
    assert_eq!(hour, again);
    pve.advance(std::time::Duration::from_secs(600));
    let later = rows(&api, "/nodes/pve1/qemu/100/rrddata?timeframe=hour").await;
    assert_eq!(hour[10..], later[..50], "the past does not change");
}

#[tokio::test]
async fn a_stop_shows_in_the_past() {
    let (pve, api) = cluster(Scenario::one_vm().running(100)).await;
    let stop = api.post("/nodes/pve1/qemu/100/status/stop", serde_json::json!({})).await;
    assert_eq!(stop.status, 200);
    pve.advance(std::time::Duration::from_secs(1800));
    let hour = rows(&api, "/nodes/pve1/qemu/100/rrddata?timeframe=hour").await;
    assert!(hour[0].get("cpu").is_some() && hour[55].get("cpu").is_none());
}

#[tokio::test]
async fn frames_have_their_steps() {
    let (_pve, api) = cluster(Scenario::one_ct().running(200)).await;
    for (name, step, count) in [("day", 60, 1440), ("week", 1800, 336), ("month", 1800, 1440), ("year", 21_600, 1440)] {
        let all = rows(&api, &format!("/nodes/pve1/lxc/200/rrddata?timeframe={name}&cf=MAX")).await;
        assert_eq!(all.len(), count, "{name}");
        assert_eq!(all[1]["time"].as_i64().unwrap_or(0) - all[0]["time"].as_i64().unwrap_or(0), step, "{name}");
    }
    let decade = rows(&api, "/nodes/pve1/rrddata?timeframe=decade").await;
    assert_eq!(decade.len(), 570);
    assert_eq!(api.get("/nodes/pve1/lxc/200/rrddata?timeframe=decade").await.status, 400);
    let node = rows(&api, "/nodes/pve1/rrddata?timeframe=hour").await;
    for key in ["loadavg", "cpu", "memused", "memavailable", "roottotal", "rootused", "pressureiofull"] {
        assert!(node[0][key].is_f64(), "{key} {}", node[0]);
    }
    let storage = rows(&api, "/nodes/pve1/storage/local/rrddata?timeframe=hour").await;
    assert!(storage[0]["total"].as_f64() > storage[0]["used"].as_f64());
}

#[tokio::test]
async fn pictures_and_what_has_no_records() {
    let (_pve, api) = cluster(Scenario::one_vm().running(100)).await;
    let got = api.get("/nodes/pve1/qemu/100/rrd?timeframe=hour&ds=cpu").await;
    assert_eq!(got.data()["filename"], "/var/lib/rrdcached/db/pve-vm-9.0/100_cpu.png");
    assert!(got.data()["image"].as_str().is_some_and(|image| image.starts_with("\u{89}PNG")));
    let got = api.get("/nodes/pve1/qemu/100/rrd?timeframe=hour&ds=").await;
    assert_eq!(got.data()["image"], Value::Null);
    let got = api.get("/nodes/pve1/rrd?timeframe=hour&ds=abc").await;
    assert_eq!(got.refusal().1, "RRD error: No DS called 'abc' in '/var/lib/rrdcached/db/pve-node-9.0/pve1'");
    let got = api.get("/nodes/pve1/qemu/999/rrddata?timeframe=hour").await;
    let text = "RRD error: opening '/var/lib/rrdcached/db/pve-vm-9.0/999': No such file or directory";
    assert_eq!(got.refusal().1, text);
}

#[tokio::test]
async fn counters_grow_with_time() {
    let pve = FakePve::builder().scenario(Scenario::one_vm()).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    run(&api, "/nodes/pve1/qemu/100/status/start", serde_json::json!({}), "OK").await;
    let netin = async || api.get("/nodes/pve1/qemu/100/status/current").await.data()["netin"].as_u64().unwrap_or(0);
    pve.advance(std::time::Duration::from_secs(600));
    let before = netin().await;
    pve.advance(std::time::Duration::from_secs(600));
    assert!(before > 0 && netin().await > before);
}
