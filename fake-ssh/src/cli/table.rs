//! Tables with borders, and what makes numbers readable.

use pve_catalog::schema::{Kind, Schema};
use serde_json::Value;

use super::text;

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub key: String,
    pub title: String,
    pub right: bool,
}

/// How a table looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub border: bool,
    pub header: bool,
    pub human: bool,
    pub boxes: bool,
}

/// The columns of a list: what every entry has, then what it may have, each sorted.
pub(crate) fn columns(schema: &Schema) -> Vec<Column> {
    let mut found: Vec<(bool, &str, &Schema)> =
        schema.properties.iter().map(|(name, schema)| (schema.optional, name, schema)).collect();
    found.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let numbers = |schema: &Schema| matches!(schema.kind, Kind::Integer | Kind::Number);
    found
        .into_iter()
        .map(|(_, name, schema)| Column { key: name.into(), title: name.into(), right: numbers(schema) })
        .collect()
}

/// Rows of objects.
pub(crate) fn list(columns: &[Column], rows: &[Value], look: Look) -> String {
    let cell = |row: &Value, column: &Column| {
        let value = row.get(&column.key).unwrap_or(&Value::Null);
        shown(&column.key, value, look.human)
    };
    let mut cells: Vec<Vec<String>> =
        rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
    if let Some(first) = columns.first() {
        let mut keyed: Vec<(Value, Vec<String>)> =
            rows.iter().map(|row| row.get(&first.key).cloned().unwrap_or_default()).zip(cells).collect();
        keyed.sort_by(|(a, _), (b, _)| match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => text(a).cmp(&text(b)),
        });
        cells = keyed.into_iter().map(|(_, row)| row).collect();
    }
    draw(columns, &cells, look)
}

/// One object, as keys and values.
pub(crate) fn object(value: &Value, look: Look) -> String {
    let mut rows: Vec<Vec<String>> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| vec![name.clone(), shown(name, value, look.human)])
        .collect();
    rows.sort();
    let column = |name: &str| Column { key: name.into(), title: name.into(), right: false };
    draw(&[column("key"), column("value")], &rows, look)
}

/// Draws cells, which may have several lines.
pub(crate) fn draw(columns: &[Column], rows: &[Vec<String>], look: Look) -> String {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let title = if look.header { widest(&column.title) } else { 0 };
            rows.iter().filter_map(|row| row.get(at)).map(|cell| widest(cell)).fold(title, usize::max)
        })
        .collect();
    let signs = match (look.border, look.boxes) {
        (false, _) => None,
        (true, false) => Some(["+-+", "+=+", "+-+", "+-+", "|"].map(str::to_string)),
        (true, true) => Some(["┌┬┐", "╞╪╡", "├┼┤", "└┴┘", "│"].map(str::to_string)),
    };
    let rule = |kind: usize| match &signs {
        None => String::new(),
        Some(signs) => {
            let ends: Vec<char> = signs[kind].chars().collect();
            let line = match (look.boxes, kind) {
                (true, 1) => '═',
                (true, _) => '─',
                (false, 1) => '=',
                (false, _) => '-',
            };
            let joint = if look.boxes { ends[1] } else { '+' };
            let parts: Vec<String> = widths.iter().map(|width| line.to_string().repeat(width + 2)).collect();
            // The real tool forgets the last corner below the title of a single column.
            if kind == 1 && columns.len() == 1 && !look.boxes {
                return format!("{}{}\n", ends[0], parts.concat());
            }
            format!("{}{}{}\n", ends[0], parts.join(&joint.to_string()), ends[2])
        }
    };
    let line = |cells: &[String]| {
        let height = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
        let mut out = String::new();
        for at in 0..height {
            let parts: Vec<String> = columns
                .iter()
                .zip(&widths)
                .zip(cells)
                .map(|((column, width), cell)| {
                    let part = cell.lines().nth(at).unwrap_or("");
                    if column.right { format!("{part:>width$}") } else { format!("{part:<width$}") }
                })
                .collect();
            match &signs {
                Some(signs) => {
                    let bar = &signs[4];
                    out.push_str(&format!("{bar} {} {bar}\n", parts.join(&format!(" {bar} "))));
                }
                None => out.push_str(&format!("{}\n", parts.join(" "))),
            }
        }
        out
    };
    let titles: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let mut out = rule(0);
    if look.header {
        out.push_str(&line(&titles));
        out.push_str(&rule(1));
    }
    for (number, row) in rows.iter().enumerate() {
        out.push_str(&line(row));
        out.push_str(&rule(if number + 1 == rows.len() { 3 } else { 2 }));
    }
    out
}

/// Values that are bytes, and those that are lengths of time.
const BYTES: [&str; 17] = [
    "maxdisk",
    "maxmem",
    "mem",
    "memhost",
    "disk",
    "diskread",
    "diskwrite",
    "netin",
    "netout",
    "maxswap",
    "swap",
    "avail",
    "total",
    "used",
    "size",
    "free",
    "memory",
];

/// A value for a person, or as it is.
pub(crate) fn shown(key: &str, value: &Value, human: bool) -> String {
    match (human, value.as_f64()) {
        (true, Some(number)) if BYTES.contains(&key) => bytes(number),
        (true, Some(number)) if key == "uptime" => duration(number),
        (true, Some(number)) if key == "cpu" && number != 0.0 => format!("{:.2}%", number * 100.0),
        (true, Some(number)) if ["starttime", "endtime", "ctime", "snaptime"].contains(&key) => time(number as i64),
        _ => text(value),
    }
}

/// `1.00 GiB`
pub(crate) fn bytes(mut number: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut unit = 0;
    while number >= 1024.0 && unit + 1 < units.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{number:.2} {}", units[unit])
}

/// `1d 2h 3m 4s`
fn duration(seconds: f64) -> String {
    let mut left = seconds as u64;
    let mut parts = Vec::new();
    for (unit, length) in [("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        let count = left / length;
        left %= length;
        if count > 0 || (unit == "s" && parts.is_empty()) {
            parts.push(format!("{count}{unit}"));
        }
    }
    parts.join(" ")
}

/// `2023-11-14 22:21:40`, in the node's time, which is UTC.
pub(crate) fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
