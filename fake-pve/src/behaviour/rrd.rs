//! `…/rrddata` and `…/rrd` of guests, nodes and storages: statistics over time, without a recorder behind them.

mod picture;
mod row;

use serde_json::{Map, Value, json};

use super::status::Target;
use super::{Answer, Call, Data, Failure};
use crate::world::GuestKind;

/// A span of time as it is asked for: seconds of a step, and how many.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub step: i64,
    pub count: i64,
}

/// The spans that can be asked for.
fn frame(name: &str) -> Frame {
    let (step, count) = match name {
        "day" => (60, 1440),
        "week" => (1800, 336),
        "month" => (1800, 1440),
        "year" => (21_600, 1440),
        "decade" => (604_800, 570),
        _ => (60, 60),
    };
    Frame { step, count }
}

/// What statistics are kept of.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    Guest(GuestKind, u32),
    Node(String),
    Storage { node: String, storage: String },
}

impl Subject {
    fn of(call: &Call<'_>) -> Subject {
        let path = call.method.path;
        if path.contains("{vmid}") {
            let target = Target::of(call);
            Subject::Guest(target.kind, target.vmid)
        } else if path.contains("{storage}") {
            Subject::Storage { node: call.node(), storage: call.params.text("storage") }
        } else {
            Subject::Node(call.node())
        }
    }

    /// The file that a recorder would keep. Pictures of storages come from the older place.
    fn file(&self, picture: bool) -> String {
        let name = match self {
            Subject::Guest(_, vmid) => format!("pve-vm-9.0/{vmid}"),
            Subject::Node(node) => format!("pve-node-9.0/{node}"),
            Subject::Storage { node, storage } if picture => format!("pve2-storage/{node}/{storage}"),
            Subject::Storage { node, storage } => format!("pve-storage-9.0/{node}/{storage}"),
        };
        format!("/var/lib/rrdcached/db/{name}")
    }

    /// Refuses what nothing was ever recorded of.
    fn check(&self, call: &Call<'_>, picture: bool) -> Result<(), Failure> {
        let there = match self {
            Subject::Guest(kind, vmid) => call.world.guests.get(vmid).is_some_and(|guest| guest.kind == *kind),
            Subject::Node(node) => call.world.nodes.contains_key(node),
            Subject::Storage { node, storage } => {
                call.world.storages.get(storage).is_some_and(|storage| storage.on_node(node))
            }
        };
        if there {
            return Ok(());
        }
        let file = self.file(picture);
        Err(Failure::die(format!("RRD error: opening '{file}': No such file or directory")))
    }

    /// Rows of a frame that ends now, oldest first; each has its `time`.
    fn rows(&self, call: &Call<'_>, frame: Frame, highest: bool) -> Vec<Map<String, Value>> {
        let end = call.now() / frame.step * frame.step;
        let start = end - frame.step * frame.count;
        let moments = (0..frame.count).map(|at| start + at * frame.step);
        let (world, now) = (&*call.world, call.now());
        let rows = row::Rows { world, now, step: frame.step, highest };
        moments.map(|from| rows.row(self, from)).collect()
    }
}

/// `GET …/rrddata`.
pub(crate) fn data(call: &mut Call<'_>) -> Answer {
    let subject = Subject::of(call);
    subject.check(call, false)?;
    let highest = call.params.get("cf").as_deref() == Some("MAX");
    let rows = subject.rows(call, frame(&call.params.text("timeframe")), highest);
    Ok(Data::from(rows.into_iter().map(Value::Object).collect::<Vec<_>>()))
}

/// `GET …/rrd`: a picture of some columns.
pub(crate) fn picture(call: &mut Call<'_>) -> Answer {
    let subject = Subject::of(call);
    let wanted = call.params.list("ds");
    let file = subject.file(true);
    let filename = format!("{file}_{}.png", wanted.join("_"));
    if wanted.is_empty() {
        return Ok(json!({"filename": filename, "image": null}).into());
    }
    subject.check(call, true)?;
    let columns = row::columns(&subject);
    if let Some(unknown) = wanted.iter().find(|name| !columns.contains(&name.as_str())) {
        return Err(Failure::die(format!("RRD error: No DS called '{unknown}' in '{file}'")));
    }
    let highest = call.params.get("cf").as_deref() == Some("MAX");
    let rows = subject.rows(call, frame(&call.params.text("timeframe")), highest);
    let lines = wanted.iter().map(|name| rows.iter().map(|row| row.get(name).and_then(Value::as_f64)).collect());
    let png = picture::png(&lines.collect::<Vec<Vec<Option<f64>>>>());
    // Bytes travel as the characters of the same number, as Perl's JSON writes them.
    let image: String = png.iter().map(|byte| char::from(*byte)).collect();
    Ok(json!({"filename": filename, "image": image}).into())
}
