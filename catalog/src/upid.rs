//! Task identifiers: `UPID:node:pid:pstart:starttime:type:id:user:`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One task, as its identifier tells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Upid {
    /// The node that runs it. Asking another node about it finds nothing.
    pub node: String,
    /// Process of the worker.
    pub pid: u32,
    /// When that process started, in clock ticks since the node booted; at most 36 bits.
    pub pstart: u64,
    /// When the task started, in seconds since 1970.
    pub starttime: u32,
    /// Kind of task, such as `qmstart` or `vzdump`.
    pub worker_type: String,
    /// What it is about (a guest's number, a storage), percent-encoded by [`encode_id`]; often empty.
    pub id: String,
    /// Who started it: a user ID or a full token ID.
    pub user: String,
}

/// Why a text is not a task identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a task identifier: {what} (expected 'UPID:node:pid:pstart:starttime:type:id:user:')")]
pub struct UpidError {
    /// What is wrong with it.
    pub what: &'static str,
}

impl Upid {
    /// The user ID and, when a token started the task, the token's name.
    pub fn owner(&self) -> (&str, Option<&str>) {
        match self.user.split_once('!') {
            Some((user, token)) => (user, Some(token)),
            None => (&self.user, None),
        }
    }

    /// The guest it is about, when its id is a guest's number.
    pub fn vmid(&self) -> Option<u32> {
        self.id.parse().ok().filter(|_| self.id.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The last digit of its start time: Proxmox keeps the log in a folder of that name.
    pub fn log_folder(&self) -> char {
        char::from_digit(self.starttime & 0xF, 16).map_or('0', |digit| digit.to_ascii_uppercase())
    }
}

/// Makes any text fit for the `id` of a task: `%`, `:`, `/`, white space, control characters and anything beyond ASCII
/// become `%` and two hex digits.
pub fn encode_id(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b":%/".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Upid { node, pid, pstart, starttime, worker_type, id, user } = self;
        write!(f, "UPID:{node}:{pid:08X}:{pstart:08X}:{starttime:08X}:{worker_type}:{id}:{user}:")
    }
}

impl FromStr for Upid {
    type Err = UpidError;

    /// Hex digits in either case, as Proxmox; everything else to the letter.
    fn from_str(text: &str) -> Result<Upid, UpidError> {
        let fields: Vec<&str> = text.split(':').collect();
        let [head, node, pid, pstart, starttime, worker_type, id, user, end] = fields[..] else {
            return Err(UpidError { what: "it does not have nine parts between colons" });
        };
        ensure(head == "UPID", "it does not begin with 'UPID:'")?;
        ensure(end.is_empty(), "it does not end with ':'")?;
        ensure(is_node(node), "the node is not a host name")?;
        ensure(is_plain(worker_type) && !worker_type.is_empty(), "the type is empty or holds a space or '/'")?;
        ensure(is_plain(id), "the id holds a space or '/'")?;
        ensure(is_plain(user) && !user.is_empty(), "the user is empty or holds a space or '/'")?;
        Ok(Upid {
            node: node.into(),
            pid: hex(pid, 8, "the pid is not eight hex digits")? as u32,
            pstart: hex(pstart, 9, "the pstart is not eight or nine hex digits")?,
            starttime: hex(starttime, 8, "the starttime is not eight hex digits")? as u32,
            worker_type: worker_type.into(),
            id: id.into(),
            user: user.into(),
        })
    }
}

fn ensure(holds: bool, what: &'static str) -> Result<(), UpidError> {
    if holds { Ok(()) } else { Err(UpidError { what }) }
}

/// At least eight hex digits, at most `most`.
fn hex(digits: &str, most: usize, what: &'static str) -> Result<u64, UpidError> {
    ensure((8..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), what)?;
    u64::from_str_radix(digits, 16).map_err(|_| UpidError { what })
}

fn is_node(name: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    ends(name.bytes().next())
        && ends(name.bytes().last())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_plain(field: &str) -> bool {
    !field.contains(|c: char| c.is_whitespace() || c == '/')
}
