//! The one type that talks to a cluster's API, and what it sends.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use pve_catalog::Verb;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::multipart::Form;
use reqwest::{Method as HttpMethod, Request, Url};
use secrecy::ExposeSecret;

use super::auth::{Auth, Pass};
use super::clock::{Clock, WallClock};
use super::envelope::{self, Answer};
use super::origin::Origin;
use super::refusal;
use super::reply::{Broken, MOST_BYTES, Reply, too_large};
use super::transport::{self, Failure};
use crate::config::Connection;
use crate::error::{Code, Fault};
use crate::policy::{ApiCall, Permit};
use crate::redact::{self, Scrubber};

/// Pauses between the attempts of a GET; one attempt more than pauses.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// One cluster's API. [`Client::send`] is the only way to it, and it takes permits only.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    host: String,
    auth: Auth,
    scrubber: Scrubber,
    clock: Arc<dyn Clock>,
    patience: Duration,
}

impl Client {
    /// A client; nothing is contacted yet.
    ///
    /// # Errors
    /// When the URL is not usable (`bad_argument`), a CA file cannot be read (`tls_untrusted`), or a rehearsal is pointed
    /// at anything but this machine.
    pub fn new(connection: Connection) -> Result<Client, Fault> {
        Client::with_clock(connection, Arc::new(WallClock::default()))
    }

    /// The same with another clock, for tests.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn with_clock(connection: Connection, clock: Arc<dyn Clock>) -> Result<Client, Fault> {
        let origin = Origin::of(&connection.url, connection.only_loopback)?;
        let patience = connection.timeout;
        let http = origin.http(&connection.tls, connection.timeout)?;
        let Origin { base, host, .. } = origin;
        let auth = Auth::new(connection.credentials);
        let scrubber = auth.scrubber();
        Ok(Client { http, base, host, auth, scrubber, clock, patience })
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Longest time for one request.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Sends what the policy allowed. A GET is tried again when the connection fails, a write never is.
    ///
    /// # Errors
    /// Every code of the closed list that concerns the API; texts are masked already.
    pub async fn send(&self, permit: Permit<ApiCall>) -> Result<Answer, Fault> {
        let call = permit.into_action();
        let answer = self.exchange(&call).await;
        answer.map_err(redact::fault)
    }

    fn token_is_taken(&self, call: &ApiCall) -> Result<(), Fault> {
        match call.method().filter(|method| !method.allow_token && self.auth.is_token()) {
            Some(method) => Err(refusal::token_not_accepted(&method.key())),
            None => Ok(()),
        }
    }

    async fn exchange(&self, call: &ApiCall) -> Result<Answer, Fault> {
        self.token_is_taken(call)?;
        let own = redact::secret_params(call);
        let scrubber = self.scrubber.with(own.iter().map(String::as_str));
        let (reply, pass) = self.authenticated(call).await.map_err(|fault| scrubber.fault(fault))?;
        let session = pass.secrets.iter().map(ExposeSecret::expose_secret);
        if reply.status != 200 {
            let fault = refusal::fault(&reply, call, self.auth.is_token());
            return Err(scrubber.with(session).fault(fault));
        }
        let ours = self.scrubber.with(session);
        let mut answer = envelope::open(reply, call.method()).map_err(|fault| scrubber.fault(fault))?;
        answer.data = ours.value(answer.data);
        answer.changes = answer.changes.map(|changes| ours.value(changes));
        Ok(answer)
    }

    /// One exchange as somebody; with a ticket that is refused, once more with a new one. Proxmox checks the ticket before
    /// anything else, so what was refused so was not carried out.
    async fn authenticated(&self, call: &ApiCall) -> Result<(Reply, Pass), Fault> {
        let pass = self.auth.pass(self.clock.now(), None, |form| self.login(form)).await?;
        let reply = self.attempts(call, &pass).await?;
        if reply.status != 401 || pass.session.is_none() || pass.just_made {
            return Ok((reply, pass));
        }
        let pass = self.auth.pass(self.clock.now(), pass.session, |form| self.login(form)).await?;
        let reply = self.attempts(call, &pass).await?;
        Ok((reply, pass))
    }

    /// The login: the only request that is not a permitted call.
    async fn login(&self, form: String) -> Result<Reply, Fault> {
        let mut request = Request::new(HttpMethod::POST, self.url("/access/ticket")?);
        request.headers_mut().insert(CONTENT_TYPE, FORM);
        *request.body_mut() = Some(form.into());
        let reply = self.execute(request, false).await.map_err(|failure| failure.fault)?;
        match reply.status {
            200 => Ok(reply),
            _ => Err(refusal::of_login(&reply)),
        }
    }

    async fn attempts(&self, call: &ApiCall, pass: &Pass) -> Result<Reply, Fault> {
        let mut pauses = PAUSES.iter();
        loop {
            let mut request = self.request(call)?;
            request.headers_mut().extend(pass.headers.clone());
            let failure = match self.execute(request, !call.is_read()).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            match pauses.next().filter(|_| call.is_read() && failure.connection) {
                Some(pause) => self.clock.sleep(*pause).await,
                None => return Err(failure.fault),
            }
        }
    }

    /// GET and DELETE carry parameters in the query and no body; POST and PUT in a form.
    fn request(&self, call: &ApiCall) -> Result<Request, Fault> {
        let mut url = self.url(&call.encoded_path())?;
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(call.params()).finish();
        let (verb, in_query) = match call.verb() {
            Verb::Get => (HttpMethod::GET, true),
            Verb::Delete => (HttpMethod::DELETE, true),
            Verb::Post => (HttpMethod::POST, false),
            Verb::Put => (HttpMethod::PUT, false),
        };
        if in_query {
            url.set_query(Some(form.as_str()).filter(|form| !form.is_empty()));
            return Ok(Request::new(verb, url));
        }
        let mut request = Request::new(verb, url);
        request.headers_mut().insert(CONTENT_TYPE, FORM);
        *request.body_mut() = Some(form.into());
        Ok(request)
    }

    /// The URL of an encoded path. What a URL parser would straighten out (`..`, `\`) is refused: the policy decided about
    /// the path as it was written.
    fn url(&self, encoded: &str) -> Result<Url, Fault> {
        let wanted = format!("/api2/json{encoded}");
        let moved = || Fault::new(Code::Internal, "the path would not arrive as it was decided about");
        let url = self.base.join(&wanted).map_err(|_| moved())?;
        let same_place = url.origin() == self.base.origin() && url.query().is_none() && url.fragment().is_none();
        let decoded = |path: &str| percent_decode_str(path).collect::<Vec<u8>>();
        if same_place && decoded(url.path()) == decoded(&wanted) { Ok(url) } else { Err(moved()) }
    }

    /// A file with its parameters, for [`Client::upload`]; sent once. A ticket that is refused is not renewed: the file is gone.
    pub(super) async fn send_form(&self, call: &ApiCall, form: Form, patience: Duration) -> Result<Answer, Fault> {
        self.token_is_taken(call)?;
        let pass = self.auth.pass(self.clock.now(), None, |form| self.login(form)).await.map_err(redact::fault)?;
        let builder = self.http.post(self.url(&call.encoded_path())?).multipart(form).timeout(patience);
        let unusable = |_| Fault::new(Code::Internal, "the form of the upload cannot be made");
        let mut request = builder.build().map_err(unusable)?;
        request.headers_mut().extend(pass.headers.clone());
        let reply =
            self.execute(request, true).await.map_err(|failure| redact::fault(self.scrubber.fault(failure.fault)))?;
        match reply.status {
            200 => envelope::open(reply, call.method()).map_err(|fault| redact::fault(self.scrubber.fault(fault))),
            _ => Err(self.refused(&reply, call)),
        }
    }

    /// The head of the answer to a GET, for [`Client::download`].
    pub(super) async fn begin(&self, call: &ApiCall, patience: Duration) -> Result<reqwest::Response, Fault> {
        self.token_is_taken(call)?;
        let pass = self.auth.pass(self.clock.now(), None, |form| self.login(form)).await.map_err(redact::fault)?;
        let mut request = self.request(call)?;
        request.headers_mut().extend(pass.headers.clone());
        *request.timeout_mut() = Some(patience);
        self.start(request, false).await.map_err(|failure| redact::fault(self.scrubber.fault(failure.fault)))
    }

    /// The fault for an answer that is no success, masked.
    pub(super) fn refused(&self, reply: &Reply, call: &ApiCall) -> Fault {
        redact::fault(self.scrubber.fault(refusal::fault(reply, call, self.auth.is_token())))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place where requests leave")]
    async fn start(&self, request: Request, write: bool) -> Result<reqwest::Response, Failure> {
        self.http.execute(request).await.map_err(|error| transport::failure(&error, &self.host, write))
    }

    async fn execute(&self, request: Request, write: bool) -> Result<Reply, Failure> {
        let failure = |error| transport::failure(&error, &self.host, write);
        let response = self.start(request, write).await?;
        Reply::read(response, MOST_BYTES).await.map_err(|broken| match broken {
            Broken::Transport(error) => failure(error),
            Broken::TooLarge => Failure { fault: too_large(MOST_BYTES), connection: false },
        })
    }
}
