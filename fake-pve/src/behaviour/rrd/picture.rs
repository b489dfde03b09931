//! Curves as a small PNG: 400 by 150 points, four colours, uncompressed.

const WIDTH: usize = 400;
const HEIGHT: usize = 150;

/// White, then the colours of the lines.
const PALETTE: [[u8; 3]; 5] = [[255, 255, 255], [17, 95, 166], [148, 174, 10], [166, 17, 32], [200, 200, 200]];

/// A picture of some lines over the same time, each scaled to its own highest value; gaps stay white.
pub(super) fn png(lines: &[Vec<Option<f64>>]) -> Vec<u8> {
    let mut rows = vec![[0u8; WIDTH]; HEIGHT];
    for (row, at) in rows.iter_mut().zip(0..) {
        if at % 30 == HEIGHT % 30 {
            row.fill(4);
        }
    }
    for (line, colour) in lines.iter().zip([1u8, 2, 3].into_iter().cycle()) {
        draw(&mut rows, line, colour);
    }
    let mut data = Vec::with_capacity((WIDTH + 1) * HEIGHT);
    for row in &rows {
        data.push(0);
        data.extend(row);
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = [(WIDTH as u32).to_be_bytes(), (HEIGHT as u32).to_be_bytes()].concat();
    chunk(&mut png, b"IHDR", &[size.as_slice(), &[8, 3, 0, 0, 0]].concat());
    chunk(&mut png, b"PLTE", &PALETTE.concat());
    chunk(&mut png, b"IDAT", &stored(&data));
    chunk(&mut png, b"IEND", &[]);
    png
}

fn draw(rows: &mut [[u8; WIDTH]], line: &[Option<f64>], colour: u8) {
    let top = line.iter().flatten().copied().fold(0.0, f64::max);
    let mut before: Option<usize> = None;
    for x in 0..WIDTH {
        let value = line.get(x * line.len() / WIDTH).copied().flatten();
        let y = value.map(|value| {
            let part = if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
            HEIGHT - 1 - (part * (HEIGHT - 10) as f64) as usize
        });
        if let Some(y) = y {
            let from = before.unwrap_or(y);
            for row in &mut rows[y.min(from)..=y.max(from)] {
                row[x] = colour;
            }
        }
        before = y;
    }
}

/// A zlib stream that compresses nothing.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(65_535).count();
    for (block, at) in data.chunks(65_535).zip(1..) {
        let length = block.len() as u16;
        out.push(u8::from(at == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    out.extend((b << 16 | a).to_be_bytes());
    out
}

fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let body = [name.as_slice(), data].concat();
    png.extend(&body);
    png.extend(crc(&body).to_be_bytes());
}

/// CRC-32 as PNG wants it.
fn crc(data: &[u8]) -> u32 {
    let crc = data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_png() {
        assert_eq!(crc(b"IEND"), 0xAE42_6082);
        let png = png(&[(0..60).map(|at| Some(f64::from(at))).collect(), vec![None; 60]]);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
        assert_eq!(&png[16..24], [0, 0, 1, 144, 0, 0, 0, 150]);
    }
}
