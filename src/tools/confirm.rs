//! Before something destructive: somebody is asked, in whatever way the caller can be.
//!
//! A client of the older protocol is asked in the middle of the call ([`Asking::Live`]), one of the newer gets the question as
//! the answer and calls again ([`Asking::Again`]); who cannot be asked gets what `PROXMOX_CONFIRM_FALLBACK` says. All three
//! pass the same ledger of the policy, and after a yes the target is looked at again.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::config::ConfirmFallback;
use crate::error::{Code, Fault};
use crate::policy::confirm::{Agreed, OPEN_FOR, Subject};
use crate::policy::{Admission, ApiCall, SshCommand};
use crate::redact;
use crate::ssh::clean;
use crate::tools::Ctx;
use crate::tools::arguments::value::plain_text;

/// How often a question is put again because its target changed meanwhile.
const ROUNDS: usize = 3;

/// Longest piece of foreign text in a question, in characters.
const MOST_FOREIGN: usize = 60;

/// Longest list of parameters in a question, in characters.
const MOST_PARAMETERS: usize = 300;

/// How a caller can be asked.
#[derive(Debug, Clone, Default)]
pub enum Asking {
    /// Not at all.
    #[default]
    Nobody,
    /// In the middle of the call.
    Live(Arc<dyn Ask>),
    /// By a question for an answer; the call then comes again.
    Again(Arc<Exchange>),
}

/// Puts a question to a person.
pub trait Ask: Debug + Send + Sync {
    /// The question is one sentence.
    fn ask(&self, question: String) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>>;
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Do it.
    Yes,
    /// Do not, or no decision was made.
    No,
    /// The question did not arrive, or what came back is no answer.
    Failed(String),
}

/// A call that may come again with an answer.
#[derive(Debug, Default)]
pub struct Exchange {
    given: Mutex<Option<(String, Answer)>>,
    wanted: Mutex<Option<Wanted>>,
    acted: AtomicBool,
}

/// A question for an answer.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// One sentence.
    pub question: String,
    /// What has to come back with the answer.
    pub state: String,
}

impl Exchange {
    /// `given`: the state and the answer that the call brings along.
    pub fn new(given: Option<(String, Answer)>) -> Exchange {
        Exchange { given: Mutex::new(given), ..Exchange::default() }
    }

    /// The question that the call ended with.
    pub fn wanted(&self) -> Option<Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Which call is asked about.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, without `instance` and `confirm`.
    pub arguments: Map<String, Value>,
    /// The value that the caller was given for its second look.
    pub confirm: Option<String>,
}

/// What is going to be done.
struct Deed {
    words: String,
    guests: Vec<u32>,
    /// Exact, never shown.
    exact: Value,
    /// Masked.
    shown: Value,
}

impl Ctx {
    /// The policy's decision about a request, after whoever has to agree did.
    pub(super) async fn admit(&self, call: ApiCall, dry_run: bool) -> Result<Admission<ApiCall>, Fault> {
        let policy = &self.cluster().policy;
        let call = self.tagged(call, dry_run).await?;
        let admission = if policy.must_ask(&call, dry_run)? && self.somebody_decides() {
            let agreed = self.agree(Deed::of_call(&call, policy.guests(&call))).await?;
            // Somebody may have taken minutes to agree.
            policy.admit_agreed(self.tagged(call, dry_run).await?, agreed)
        } else {
            policy.admit(call, dry_run)
        };
        if matches!(&admission, Ok(Admission::Go(permit)) if !permit.action().is_read()) {
            self.acts();
        }
        admission
    }

    /// The same for an action over SSH.
    pub(super) async fn admit_ssh(&self, command: SshCommand, dry_run: bool) -> Result<Admission<SshCommand>, Fault> {
        let cluster = self.cluster();
        let command = self.tagged_ssh(command, dry_run).await?;
        let admission = if cluster.policy.must_ask_ssh(&command, dry_run)? && self.somebody_decides() {
            let agreed = self.agree(Deed::of_command(&command, cluster.ssh.shown(&command))).await?;
            cluster.policy.admit_agreed_ssh(self.tagged_ssh(command, dry_run).await?, agreed)
        } else {
            cluster.policy.admit_ssh(command, dry_run)
        };
        if matches!(&admission, Ok(Admission::Go(_))) {
            self.acts();
        }
        admission
    }

    fn asking(&self) -> Asking {
        if self.cluster().policy.access().never_ask { Asking::Nobody } else { self.caller().asking.clone() }
    }

    /// Whether the decision is somebody else's: a person's, or that of a second look.
    fn somebody_decides(&self) -> bool {
        let plans = self.cluster().policy.access().confirm_fallback == ConfirmFallback::Plan;
        plans || !matches!(self.asking(), Asking::Nobody)
    }

    /// From here on the call cannot simply come again.
    fn acts(&self) {
        if let Asking::Again(exchange) = &self.caller().asking {
            exchange.acted.store(true, Ordering::Relaxed);
        }
    }

    async fn agree(&self, deed: Deed) -> Result<Agreed, Fault> {
        match self.asking() {
            Asking::Nobody => self.plan(&deed).await,
            Asking::Live(ask) => self.ask(&deed, &*ask).await,
            Asking::Again(exchange) => self.answered(&deed, &exchange).await,
        }
    }

    /// Asks, waits, and looks at the target again.
    async fn ask(&self, deed: &Deed, ask: &dyn Ask) -> Result<Agreed, Fault> {
        let clock = self.cluster().client.clock();
        let cancelled = self.cancelled_by_caller();
        let mut again = "";
        for _ in 0..ROUNDS {
            let (subject, question) = self.question(deed, again).await?;
            let value = self.server().ledger().open(subject, clock.now());
            let answer = tokio::select! {
                biased;
                answer = ask.ask(question) => answer,
                () = cancelled.cancelled() => return Err(nothing_done(Code::Cancelled, "the caller cancelled")),
                () = self.server().shutdown().cancelled() => Answer::Failed("the server is being stopped".into()),
                () = clock.sleep(OPEN_FOR) => Answer::Failed("nobody answered in five minutes".into()),
            };
            agreed_to(answer)?;
            let (subject, _) = self.question(deed, again).await?;
            if let Ok(agreed) = self.server().ledger().redeem(&value, &subject, clock.now()) {
                return Ok(agreed);
            }
            again = "It changed since you were asked: ";
        }
        Err(nothing_done(Code::ConfirmationFailed, "what the call acts on changed each time somebody agreed to it"))
    }

    /// Takes the answer that came with the call, or leaves the question for the caller to bring back.
    async fn answered(&self, deed: &Deed, exchange: &Exchange) -> Result<Agreed, Fault> {
        if exchange.acted.load(Ordering::Relaxed) {
            return Err(Fault::new(
                Code::ConfirmationFailed,
                "a second destructive step comes up in a call that has done something already, and nobody can be asked \
                 in the middle of one: this step was not done",
            )
            .hint("do this step with a call of its own"));
        }
        let now = self.cluster().client.clock().now();
        let given = exchange.given.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut again = "";
        let (subject, _) = self.question(deed, again).await?;
        if let Some((state, answer)) = given {
            agreed_to(answer)?;
            match self.server().ledger().redeem(&state, &subject, now) {
                Ok(agreed) => return Ok(agreed),
                Err(_) => again = "The earlier answer was for something else: ",
            }
        }
        let (subject, question) = self.question(deed, again).await?;
        let state = self.server().ledger().open(subject, now);
        let wanted = Wanted { question, state };
        *exchange.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted);
        Err(nothing_done(Code::ConfirmationRequired, "a person has to agree first"))
    }

    /// A second look: takes the value back, or says what would be sent and gives one out.
    async fn plan(&self, deed: &Deed) -> Result<Agreed, Fault> {
        let now = self.cluster().client.clock().now();
        let (subject, question) = self.question(deed, "").await?;
        let stale = match &self.about().confirm {
            None => None,
            Some(value) => match self.server().ledger().redeem(value, &subject, now) {
                Ok(agreed) => return Ok(agreed),
                Err(stale) => Some(stale),
            },
        };
        let confirm = self.server().ledger().open(subject, now);
        let why = stale.map(|stale| format!("the value of 'confirm' does not count: {stale}; ")).unwrap_or_default();
        Err(nothing_done(Code::ConfirmationRequired, &format!("{why}look at what would be sent"))
            .hint("if it is what is wanted, call again with the same arguments and this 'confirm'")
            .detail("would", question)
            .detail("request", deed.shown.clone())
            .detail("confirm", confirm)
            .detail("confirm_expires_in_seconds", OPEN_FOR.as_secs())
            .detail("untrusted", true))
    }

    /// What is asked about as it is now, and the question.
    async fn question(&self, deed: &Deed, again: &str) -> Result<(Subject, String), Fault> {
        let target = self.target(&deed.guests).await?;
        let instance = &self.cluster().name;
        let about = self.about();
        let subject = Subject::of(&about.tool, &about.arguments, instance, &deed.exact, &target);
        let aimed = if target.is_empty() { String::new() } else { format!(" ({target})") };
        let on = if self.server().clusters().len() > 1 { format!(" in the cluster {instance}") } else { String::new() };
        Ok((subject, format!("{again}{}{aimed}{on}: {}?", deed.words, of_request(&deed.shown))))
    }

    /// The guests by kind, number, name and node, as the cluster has them now.
    async fn target(&self, guests: &[u32]) -> Result<String, Fault> {
        if guests.is_empty() {
            return Ok(String::new());
        }
        let rows = self.guest_rows().await.map_err(|fault| {
            nothing_done(Code::ConfirmationFailed, &format!("what it acts on cannot be read: {}", fault.message))
        })?;
        let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
        let told = guests.iter().map(|vmid| {
            let row = rows.iter().find(|row| row.get("vmid").map(plain_text) == Some(vmid.to_string()));
            row.map_or_else(|| format!("guest {vmid}, which the cluster does not list"), |row| named(*vmid, row))
        });
        Ok(told.collect::<Vec<_>>().join(", "))
    }

    /// Boxed, because reading passes the same door that asks.
    fn guest_rows(&self) -> Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + '_>> {
        Box::pin(async { Ok(self.get("/cluster/resources", &[("type", "vm")]).await?.data) })
    }
}

impl Deed {
    fn of_call(call: &ApiCall, guests: Vec<u32>) -> Deed {
        let words = call.method().map_or("Send a request that the catalogue does not know", |method| method.summary);
        let exact = json!([call.verb().to_string(), call.path(), call.params()]);
        Deed { words: words.into(), guests, exact, shown: redact::request(call) }
    }

    fn of_command(command: &SshCommand, shown: Value) -> Deed {
        let words = format!("Run over SSH what cannot be taken back on {}", command.place());
        Deed { words, guests: command.guests(), exact: shown.clone(), shown }
    }
}

/// `VM 100 named "web" on pve1`.
fn named(vmid: u32, row: &Value) -> String {
    let text = |key: &str| quoted(row.get(key).and_then(Value::as_str).unwrap_or_default(), MOST_FOREIGN);
    let kind = match row.get("type").and_then(Value::as_str) {
        Some("qemu") => "VM",
        Some("lxc") => "container",
        _ => "guest",
    };
    let name = match text("name").as_str() {
        "\"\"" => "without a name".to_string(),
        name => format!("named {name}"),
    };
    format!("{kind} {vmid} {name} on node {}", text("node"))
}

/// Foreign text in quotation marks, on one line, cut, without control and direction characters.
fn quoted(text: &str, most: usize) -> String {
    let line = clean::line(text).replace('"', "'");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("\"{}…\"", &line[..end]),
        None => format!("\"{line}\""),
    }
}

/// `DELETE /nodes/pve1/qemu/100 with {"purge":"1"}`.
fn of_request(shown: &Value) -> String {
    let text = |key: &str| shown.get(key).and_then(Value::as_str);
    let Some((method, path)) = text("method").zip(text("path")) else {
        return quoted(text("run").unwrap_or(&shown.to_string()), MOST_PARAMETERS);
    };
    let params = shown.get("params").and_then(Value::as_object).filter(|params| !params.is_empty());
    let pairs = params.map(|params| {
        let pair = |(name, value): (&String, &Value)| format!("{name}={}", plain_text(value));
        quoted(&params.iter().map(pair).collect::<Vec<_>>().join(" "), MOST_PARAMETERS)
    });
    let with = pairs.map(|pairs| format!(" with {pairs}")).unwrap_or_default();
    format!("{method} {}{with}", clean::line(path))
}

fn agreed_to(answer: Answer) -> Result<(), Fault> {
    match answer {
        Answer::Yes => Ok(()),
        Answer::No => Err(nothing_done(Code::ConfirmationDeclined, "a person was asked and did not agree")
            .hint("do not ask again unless the person wants it")),
        Answer::Failed(why) => {
            Err(nothing_done(Code::ConfirmationFailed, &format!("a person could not be asked: {}", clean::line(&why)))
                .hint("PROXMOX_ELICIT=false asks nothing, and PROXMOX_CONFIRM_FALLBACK then decides"))
        }
    }
}

fn nothing_done(code: Code, why: &str) -> Fault {
    Fault::new(code, format!("{why}; this was not done"))
}
