//! Configuration files of guests (`nodes/pve1/qemu-server/100.conf`), read and written as Proxmox does.
//!
//! A file is a main section, a section with what waits for a stop (`[PENDING]` of a machine, `[pve:pending]` of a
//! container), and one section for each snapshot. Lines that cannot be read become warnings in Proxmox's words.

mod check;
mod read;
mod write;

pub use read::read;
pub use write::write;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What Proxmox encodes in comment lines: control characters, `%`, `:` and everything that is not ASCII.
const COMMENT: &AsciiSet = &CONTROLS.add(b'%').add(b':');

/// A line of a description as a comment line holds it.
pub(crate) fn encode_text(text: &str) -> String {
    utf8_percent_encode(text, COMMENT).to_string()
}

/// The other way; bytes that are no UTF-8 are replaced.
pub(crate) fn decode_text(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
