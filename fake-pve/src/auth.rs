//! Who asks: tickets, CSRF tokens and API tokens, with Proxmox's answers when they are missing or wrong.
//!
//! Tickets carry a time and are judged on the virtual clock: older than two hours, or more than five minutes in the
//! future, they are refused.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::http::Headers;
use crate::world::Access;

/// How long a ticket lives, in seconds.
pub const TICKET_LIFETIME: i64 = 7200;
const TICKET_FUTURE: i64 = 300;

/// The one text for every refused credential (older releases told the reason).
pub const FAILED: &str = "Authentication failed!";

/// What signs tickets: random for each server, so tickets die with it.
#[derive(Clone)]
pub(crate) struct Keys {
    ticket: [u8; 32],
    csrf: [u8; 32],
    /// Certificate of the cluster's authority as PEM: what consoles are given to verify their connection.
    pub ca: String,
}

/// Credentials as a request carries them.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Ticket(String),
    Token(String),
}

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// User or full token id.
    pub authid: String,
    /// Whether it came with a token.
    pub token: bool,
}

impl Keys {
    pub fn random() -> Keys {
        Keys { ticket: rand::random(), csrf: rand::random(), ca: String::new() }
    }

    /// A ticket of a user: `PVE:root@pam:65A0B1C2::…`.
    pub fn ticket(&self, userid: &str, now: i64) -> String {
        self.signed("PVE", userid, now, "")
    }

    /// The CSRF token that belongs to a user's tickets.
    pub fn csrf(&self, userid: &str, now: i64) -> String {
        let time = format!("{now:08X}");
        let mac = hmac(&self.csrf, format!("{time}:{userid}").as_bytes());
        format!("{time}:{}", STANDARD_NO_PAD.encode(mac))
    }

    /// A signed text of a kind (`PVE`, `PVEVNC`) about a user; `bound` is signed too, but not shown.
    pub fn signed(&self, kind: &str, about: &str, now: i64, bound: &str) -> String {
        let plain = format!("{kind}:{}:{now:08X}", about.replace(':', "%3A"));
        format!("{plain}::{}", self.signature(&plain, bound))
    }

    /// Whom a signed text is about, when its signature and its age (in seconds, past and future) are right.
    pub fn opened(&self, kind: &str, text: &str, bound: &str, now: i64, past: i64, future: i64) -> Option<String> {
        let (plain, signature) = text.rsplit_once("::")?;
        let expected = self.signature(plain, bound);
        if !bool::from(expected.as_bytes().ct_eq(signature.as_bytes())) {
            return None;
        }
        let (about, time) = plain.strip_prefix(kind)?.strip_prefix(':')?.rsplit_once(':')?;
        let age = now - i64::from_str_radix(time, 16).ok()?;
        (age > -future && age < past).then(|| about.replace("%3A", ":"))
    }

    /// The user of a valid ticket.
    pub fn check_ticket(&self, ticket: &str, now: i64) -> Option<String> {
        self.opened("PVE", ticket, "", now, TICKET_LIFETIME, TICKET_FUTURE).filter(|about| !about.starts_with('!'))
    }

    /// A ticket of a console: `PVEVNC:65A0B1C2::…`. It is good for one caller, one path (`/vms/100`) and, when that is
    /// given, one port.
    pub fn vnc_ticket(&self, authid: &str, path: &str, port: Option<i64>, now: i64) -> String {
        let plain = format!("PVEVNC:{now:08X}");
        let signature = self.signature(&plain, &vnc_bound(authid, path, port));
        format!("{plain}::{signature}")
    }

    /// Whether a console ticket is good: at most 40 seconds old and 20 in the future. One that was made for a port is
    /// good only with it.
    pub fn check_vnc_ticket(&self, ticket: &str, authid: &str, path: &str, port: Option<i64>, now: i64) -> bool {
        let Some((plain, signature)) = ticket.rsplit_once("::") else { return false };
        let time = plain.strip_prefix("PVEVNC:").and_then(|time| i64::from_str_radix(time, 16).ok());
        let fits = |port| {
            let expected = self.signature(plain, &vnc_bound(authid, path, port));
            bool::from(expected.as_bytes().ct_eq(signature.as_bytes()))
        };
        let young = time.is_some_and(|time| now - time > -20 && now - time < 40);
        young && (fits(port) || fits(None))
    }

    fn check_csrf(&self, userid: &str, token: &str, now: i64) -> bool {
        let Some((time, _)) = token.split_once(':') else { return false };
        let Ok(time) = i64::from_str_radix(time, 16) else { return false };
        let right: bool = self.csrf(userid, time).as_bytes().ct_eq(token.as_bytes()).into();
        let age = now - time;
        right && age > -TICKET_FUTURE && age < TICKET_LIFETIME
    }

    /// As long as the real thing: 256 bytes.
    fn signature(&self, plain: &str, bound: &str) -> String {
        let mut bytes = Vec::with_capacity(256);
        for part in 0u8..8 {
            bytes.extend(hmac(&self.ticket, format!("{part}:{plain}:{bound}").as_bytes()));
        }
        STANDARD.encode(bytes)
    }
}

/// What a console ticket is bound to.
fn vnc_bound(authid: &str, path: &str, port: Option<i64>) -> String {
    port.map_or_else(|| format!("{authid}:{path}"), |port| format!("{authid}:{path}:{port}"))
}

/// HMAC-SHA256 of a message under a 32-byte key.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

/// Judges the credentials of a request.
///
/// # Errors
/// The reason phrase of the 401.
pub(crate) fn authenticate(
    keys: &Keys,
    access: &Access,
    headers: &Headers,
    needs_csrf: bool,
    now: i64,
) -> Result<Identity, &'static str> {
    match given(headers).ok_or("No ticket")? {
        Given::Ticket(ticket) => {
            let userid = keys.check_ticket(&ticket, now).ok_or(FAILED)?;
            access.check_user(&userid, now).map_err(|_| FAILED)?;
            let csrf = headers.get("csrfpreventiontoken").unwrap_or_default();
            if needs_csrf && !keys.check_csrf(&userid, csrf, now) {
                return Err("Permission denied - invalid csrf token");
            }
            Ok(Identity { authid: userid, token: false })
        }
        Given::Token(text) => {
            let authid = check_token(access, &text, now).ok_or(FAILED)?;
            Ok(Identity { authid, token: true })
        }
    }
}

fn check_token(access: &Access, text: &str, now: i64) -> Option<String> {
    let (full_id, secret) = text.rsplit_once('=')?;
    let (userid, _) = full_id.split_once('!')?;
    access.check_user(userid, now).ok()?;
    let token = access.config.token(full_id)?;
    if token.expire != 0 && now >= i64::try_from(token.expire).unwrap_or(i64::MAX) {
        return None;
    }
    access.tokens.get(full_id)?.is(secret).then(|| full_id.to_string())
}

/// A cookie beats a ticket in `Authorization`, and a ticket beats a token.
fn given(headers: &Headers) -> Option<Given> {
    let cookie = headers.all("cookie").find_map(|value| value_of(value, "PVEAuthCookie"));
    let authorization = headers.get("authorization").unwrap_or_default();
    cookie
        .or_else(|| value_of(authorization, "PVEAuthCookie"))
        .map(Given::Ticket)
        .or_else(|| value_of(authorization, "PVEAPIToken").map(Given::Token))
}

/// `KEY=value` or `KEY value` at the start or after white space, up to `;`, percent-decoded.
fn value_of(header: &str, key: &str) -> Option<String> {
    let mut from = 0;
    while let Some(found) = header[from..].find(key) {
        let at = from + found;
        let after = &header[at + key.len()..];
        let starts = header[..at].chars().next_back().is_none_or(char::is_whitespace);
        if starts && let Some(value) = after.strip_prefix(['=', ' ']) {
            let value = value.split(';').next().unwrap_or_default();
            return Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
        }
        from = at + key.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_lives_two_hours() {
        let keys = Keys::random();
        let ticket = keys.ticket("root@pam", 1_000_000);
        assert_eq!(keys.check_ticket(&ticket, 1_000_000 + 7199).as_deref(), Some("root@pam"));
        assert_eq!(keys.check_ticket(&ticket, 1_000_000 + 7200), None);
        assert_eq!(keys.check_ticket(&ticket, 1_000_000 - 300), None);
        assert_eq!(keys.check_ticket(&ticket.replace("root", "toor"), 1_000_000), None);
        assert_eq!(Keys::random().check_ticket(&ticket, 1_000_000), None);
        assert_eq!(keys.csrf("root@pam", 1_000_000).len(), 8 + 1 + 43);
    }

    #[test]
    fn a_console_ticket_is_good_for_one_caller_path_and_port() {
        let keys = Keys::random();
        let ticket = keys.vnc_ticket("root@pam", "/vms/100", Some(5900), 1_000_000);
        assert!(ticket.starts_with("PVEVNC:000F4240::"));
        let good = |authid: &str, path: &str, port, now| keys.check_vnc_ticket(&ticket, authid, path, port, now);
        assert!(good("root@pam", "/vms/100", Some(5900), 1_000_039));
        assert!(!good("root@pam", "/vms/100", Some(5901), 1_000_000));
        assert!(!good("root@pam", "/vms/101", Some(5900), 1_000_000));
        assert!(!good("bob@pve", "/vms/100", Some(5900), 1_000_000));
        assert!(!good("root@pam", "/vms/100", Some(5900), 1_000_040));
    }

    #[test]
    fn values_are_found_as_proxmox_finds_them() {
        assert_eq!(value_of("a=1; PVEAuthCookie=PVE%3Ax; b=2", "PVEAuthCookie").as_deref(), Some("PVE:x"));
        assert_eq!(value_of("PVEAPIToken root@pam!ci=s=1", "PVEAPIToken").as_deref(), Some("root@pam!ci=s=1"));
        assert_eq!(value_of("xPVEAPIToken=1", "PVEAPIToken"), None);
    }

    #[test]
    fn hmac_is_the_known_one() {
        let key: [u8; 32] = [0x0b; 32];
        let again = hmac(&key, b"Hi There");
        assert_eq!(again, hmac(&key, b"Hi There"));
        assert_ne!(again, hmac(&[0x0c; 32], b"Hi There"));
    }
}
