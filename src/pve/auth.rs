//! Who we are to Proxmox: a token, or a ticket with its renewal.
//!
//! Logging in is the one request that needs no permit: only the client can name it, and its answer never leaves it.

use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::Mutex;

use super::reply::Reply;
use crate::config::Credentials;
use crate::error::{Code, Fault};
use crate::redact::Scrubber;

/// A ticket lives two hours by Proxmox's clock; it is renewed well before.
const RENEW_AFTER: Duration = Duration::from_secs(90 * 60);

/// What Proxmox would decode or cut in an `Authorization` header.
const HEADER: &AsciiSet = &CONTROLS.add(b'%').add(b';').add(b' ');

const CSRF: HeaderName = HeaderName::from_static("csrfpreventiontoken");

/// The state of being somebody.
#[derive(Debug)]
pub(super) struct Auth {
    credentials: Credentials,
    session: Mutex<Option<Session>>,
}

/// One login.
#[derive(Clone, Debug)]
struct Session {
    ticket: SecretString,
    csrf: SecretString,
    /// By the client's clock.
    made: Duration,
    number: u64,
}

/// Headers for one request.
#[derive(Debug)]
pub(super) struct Pass {
    /// To be added to the request.
    pub headers: HeaderMap,
    /// The number of the login behind them; `None` for a token.
    pub session: Option<u64>,
    /// Whether that login was made just now: a 401 then is no matter of age.
    pub just_made: bool,
    /// What must not be seen of them.
    pub secrets: Vec<SecretString>,
}

impl Auth {
    pub fn new(credentials: Credentials) -> Auth {
        Auth { credentials, session: Mutex::new(None) }
    }

    /// Whether it is a token.
    pub fn is_token(&self) -> bool {
        matches!(self.credentials, Credentials::Token { .. })
    }

    /// A scrubber of what is always secret.
    pub fn scrubber(&self) -> Scrubber {
        match &self.credentials {
            Credentials::Token { secret, .. } => Scrubber::of([secret.expose_secret()]),
            Credentials::Password { password, .. } => Scrubber::of([password.expose_secret()]),
        }
    }

    /// Headers for a request; logs in first when there is no ticket, it is old, or it is the login `refused`.
    /// `login` sends the form to `/access/ticket`.
    ///
    /// # Errors
    /// Why the login failed.
    pub async fn pass<F>(&self, now: Duration, refused: Option<u64>, login: F) -> Result<Pass, Fault>
    where
        F: AsyncFnOnce(String) -> Result<Reply, Fault>,
    {
        match &self.credentials {
            Credentials::Token { id, secret } => token_pass(id, secret),
            Credentials::Password { username, password } => {
                // The lock is held over the login: whoever comes meanwhile waits and takes the same ticket.
                let mut session = self.session.lock().await;
                let usable = session.as_ref().filter(|session| {
                    Some(session.number) != refused && now.saturating_sub(session.made) < RENEW_AFTER
                });
                if let Some(session) = usable {
                    return ticket_pass(session, false);
                }
                let number = session.as_ref().map_or(0, |session| session.number) + 1;
                let form = form_urlencoded::Serializer::new(String::new())
                    .append_pair("username", username)
                    .append_pair("password", password.expose_secret())
                    .finish();
                let (ticket, csrf) = logged_in(&login(form).await?, username)?;
                let made = Session { ticket, csrf, made: now, number };
                let pass = ticket_pass(&made, true);
                *session = Some(made);
                pass
            }
        }
    }
}

fn token_pass(id: &str, secret: &SecretString) -> Result<Pass, Fault> {
    let id = utf8_percent_encode(id, HEADER);
    let secret_text = utf8_percent_encode(secret.expose_secret(), HEADER);
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, sensitive(&format!("PVEAPIToken={id}={secret_text}"))?);
    Ok(Pass { headers, session: None, just_made: false, secrets: vec![secret.clone()] })
}

fn ticket_pass(session: &Session, just_made: bool) -> Result<Pass, Fault> {
    let ticket = utf8_percent_encode(session.ticket.expose_secret(), NON_ALPHANUMERIC);
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, sensitive(&format!("PVEAuthCookie={ticket}"))?);
    headers.insert(CSRF, sensitive(session.csrf.expose_secret())?);
    let secrets = vec![session.ticket.clone(), session.csrf.clone()];
    Ok(Pass { headers, session: Some(session.number), just_made, secrets })
}

fn sensitive(text: &str) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Fault::new(Code::Unauthenticated, "the credentials hold a character that no header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads the answer to a login: ticket and CSRF token.
fn logged_in(reply: &Reply, username: &str) -> Result<(SecretString, SecretString), Fault> {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let data = body.get("data").unwrap_or(&Value::Null);
    let field = |name: &str| data.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if needs_second_factor(data) {
        return Err(Fault::new(
            Code::TwoFactor,
            format!("{username} needs a second factor to log in, which this server cannot give"),
        )
        .hint("use an API token instead (PROXMOX_TOKEN): tokens need no second factor"));
    }
    match (reply.status, field("ticket"), field("CSRFPreventionToken")) {
        (200, Some(ticket), Some(csrf)) => Ok((ticket.into(), csrf.into())),
        (200, ..) => Err(Fault::new(Code::Internal, "the login was answered without a ticket")
            .hint("does PROXMOX_URL lead to the API itself?")),
        _ => Err(Fault::new(Code::Internal, "the login was refused")),
    }
}

/// `NeedTFA` comes as a number or as text; the half-made ticket says it too.
fn needs_second_factor(data: &Value) -> bool {
    let flag = match data.get("NeedTFA") {
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::String(text)) => !text.is_empty() && text != "0",
        Some(Value::Bool(flag)) => *flag,
        _ => false,
    };
    let half_made = data.get("ticket").and_then(Value::as_str).is_some_and(|ticket| ticket.starts_with("PVE:!tfa!"));
    flag || half_made
}
