//! Sizes as Proxmox writes and reads them: `32G`, `1536M`, `528K`, `+2G`.

const UNITS: [(&str, u64); 4] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

/// Bytes of `8G`, `1.5T`, `512`; binary units, an `iB` behind the unit is allowed.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.strip_suffix("iB").unwrap_or(text);
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (number, factor) = unit.map_or((text, 1), |(unit, factor)| (&text[..text.len() - unit.len()], *factor));
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = number.parse().ok().filter(|_| plain)?;
    Some((value * factor as f64) as u64)
}

/// The largest exact unit: 34359738368 is `32G`.
pub fn print(bytes: u64) -> String {
    let fits = UNITS.iter().rev().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    match fits {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None if bytes == 0 => "0T".into(),
        None => bytes.to_string(),
    }
}

/// As progress lines say it: `8.0 GiB`, `528.0 KiB`, `0.0 B`.
pub fn readable(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return format!("{value:.1} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("32G", 32 << 30), ("1536M", 1536 << 20), ("528K", 528 << 10), ("512", 512)] {
            assert_eq!((parse(text), print(bytes).as_str()), (Some(bytes), text));
        }
        assert_eq!(
            (parse("1.5G"), parse("8GiB"), parse("x"), parse("+1G")),
            (Some(3 << 29), Some(8 << 30), None, None)
        );
        assert_eq!((print(0).as_str(), readable(1 << 30).as_str(), readable(0).as_str()), ("0T", "1.0 GiB", "0.0 B"));
    }
}
