//! A connection that became a socket: frames as Proxmox takes and sends them, and as much of a console as there is here.
//!
//! A terminal's client begins with `<user>:<ticket>` and a line end, and is told `OK`. No shell is behind it: the console
//! says so and closes. Who says nothing is left after ten seconds, as `termproxy` does.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::body::Reader;

/// How long the first line may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest payload of a frame.
const LONGEST: u64 = 128 << 10;

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What a console without a shell says.
const NOTICE: &[u8] = b"fake-pve: no shell is behind this console\r\n";

/// Speaks as a console until one side has had enough.
pub(super) async fn console(reader: &mut Reader, write: &mut (impl AsyncWrite + Unpin), ticket: &str) {
    let line = tokio::time::timeout(PATIENCE, first_line(reader, write)).await.ok().flatten();
    let known = line.is_some_and(|line| line.split_once(':').is_some_and(|(_, given)| given == ticket));
    if known {
        let _gone = write.write_all(&frame(BINARY, b"OK")).await;
        let _gone = write.write_all(&frame(BINARY, NOTICE)).await;
    }
    let _gone = write.write_all(&frame(CLOSE, &1000u16.to_be_bytes())).await;
    let _gone = write.flush().await;
}

/// Data up to the first line end; pings are answered meanwhile. `None` when the client closes or breaks the rules.
async fn first_line(reader: &mut Reader, write: &mut (impl AsyncWrite + Unpin)) -> Option<String> {
    let mut said = Vec::new();
    loop {
        let (kind, payload) = next(reader).await?;
        match kind {
            1 | BINARY => said.extend(payload),
            PING => write.write_all(&frame(PONG, &payload)).await.ok()?,
            PONG => {}
            _ => return None,
        }
        if let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            said.truncate(end);
            return String::from_utf8(said).ok();
        }
        if said.len() as u64 > LONGEST {
            return None;
        }
    }
}

/// The next frame of the client: masked, in one piece, not too long.
async fn next(reader: &mut Reader) -> Option<(u8, Vec<u8>)> {
    let head = reader.exactly(2).await?;
    let (whole, masked) = (head[0] & 0xf0 == 0x80, head[1] & 0x80 != 0);
    let length = match head[1] & 0x7f {
        126 => number(&reader.exactly(2).await?),
        127 => number(&reader.exactly(8).await?),
        short => u64::from(short),
    };
    if !whole || !masked || length > LONGEST {
        return None;
    }
    let mask = reader.exactly(4).await?;
    let mut payload = reader.exactly(usize::try_from(length).ok()?).await?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((head[0] & 0x0f, payload))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A frame of the server, which is short here.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap_or(125).min(125);
    let mut frame = vec![0x80 | kind, length];
    frame.extend(&payload[..usize::from(length)]);
    frame
}
