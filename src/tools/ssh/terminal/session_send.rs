//! `pve_ssh_session_send`: types into a terminal, and reads what that brings.

use serde_json::json;

use super::super::shape::{changes, dry};
use super::{SESSION, WAIT, may_use, output, read, wait};
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_session_send";
const PARAMETERS: &[Parameter] = &[
    SESSION,
    Parameter::text("text", "typed as it is"),
    Parameter::texts("keys", KEYS_SAY),
    Parameter::flag("enter", "press Enter at the end: default true with text alone"),
    WAIT,
    Parameter::flag("dry_run", ""),
];
const KEYS_SAY: &str = "pressed after the text: enter, tab, escape, backspace, delete, up, down, left, right, home, end, \
                        page_up, page_down, ctrl-c and other ctrl-letters";

const KEYS: [(&str, &str); 13] = [
    ("enter", "\r"),
    ("tab", "\t"),
    ("escape", "\u{1b}"),
    ("backspace", "\u{7f}"),
    ("delete", "\u{1b}[3~"),
    ("up", "\u{1b}[A"),
    ("down", "\u{1b}[B"),
    ("right", "\u{1b}[C"),
    ("left", "\u{1b}[D"),
    ("home", "\u{1b}[H"),
    ("end", "\u{1b}[F"),
    ("page_up", "\u{1b}[5~"),
    ("page_down", "\u{1b}[6~"),
];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Type into a terminal and read what it prints";
    changes(NAME, summary, false, PARAMETERS, || output(json!({})), |ctx, given| Box::pin(run(ctx, given)))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    may_use(ctx, NAME)?;
    let session = given.text("session").unwrap_or_default();
    let typed = typed(&given)?;
    if given.flag("dry_run") == Some(true) {
        let shown = json!({"name": NAME, "on": format!("terminal {session}"), "types_bytes": typed.len()});
        return Ok(dry(json!({"session": session}), shown));
    }
    ctx.cluster().ssh.terminals().send(session, &typed)?;
    Ok(Reply::new(read(ctx, session, wait(&given)).await?))
}

fn typed(given: &Given) -> Result<Vec<u8>, Fault> {
    let text = given.text("text").unwrap_or_default();
    let keys = given.texts("keys");
    let mut typed = text.as_bytes().to_vec();
    for key in &keys {
        typed
            .extend(bytes(key).ok_or_else(|| Fault::argument("keys", format!("there is no key '{key}': {KEYS_SAY}")))?);
    }
    let ends = text.ends_with(['\n', '\r']);
    if given.flag("enter").unwrap_or(!text.is_empty() && keys.is_empty() && !ends) {
        typed.push(b'\r');
    }
    if typed.is_empty() {
        return Err(Fault::argument("text", "there is nothing to type: give text, keys or enter"));
    }
    Ok(typed)
}

fn bytes(key: &str) -> Option<Vec<u8>> {
    if let Some((_, bytes)) = KEYS.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
        return Some(bytes.as_bytes().to_vec());
    }
    let letter = key.strip_prefix("ctrl-").or(key.strip_prefix("Ctrl-"))?;
    match letter.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(vec![letter.to_ascii_lowercase() - b'a' + 1]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_a_terminal_sends() {
        assert_eq!(bytes("ctrl-c"), Some(vec![3]));
        assert_eq!(bytes("Up"), Some(b"\x1b[A".to_vec()));
        assert_eq!(bytes("ctrl-1"), None);
        assert_eq!(bytes("f13"), None);
    }
}
