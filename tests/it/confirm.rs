//! Destructive calls are confirmed: both eras, stdio and HTTP, the second look, and every old answer is asked anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pvemcp::config::{Access, ConfirmFallback};
use pvemcp::error::Code;
use pvemcp::mcp::Handler;
use pvemcp::policy::{Effect, Place, SshCommand};
use pvemcp::pve::Clock;
use pvemcp::server::Server;
use pvemcp::tools::Ctx;
use pvemcp::tools::confirm::{Answer, Ask, Asking};
use pvemcp::tools::context::Caller;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::scripted::{Scripted, ok};
use crate::served::{call, cluster, everything, settings};

/// A clock that tests move; whoever sleeps by it wakes when the time has come.
#[derive(Debug)]
pub struct HandClock(tokio::sync::watch::Sender<Duration>);

impl HandClock {
    pub fn new() -> Arc<HandClock> {
        Arc::new(HandClock(tokio::sync::watch::channel(Duration::ZERO).0))
    }

    pub fn advance(&self, time: Duration) {
        self.0.send_modify(|now| *now += time);
    }

    pub fn sleepers(&self) -> usize {
        self.0.receiver_count()
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        *self.0.borrow()
    }

    fn sleep(&self, time: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let until = self.now() + time;
        let mut now = self.0.subscribe();
        Box::pin(async move {
            now.wait_for(|now| *now >= until).await.ok();
        })
    }
}

/// A cluster whose VM 100 can get another name, and what a server over it needs.
struct World {
    scripted: Scripted,
    name: Arc<Mutex<String>>,
    clock: Arc<HandClock>,
}

impl World {
    async fn new() -> World {
        let name = Arc::new(Mutex::new("web".to_string()));
        let shown = name.clone();
        let scripted = cluster(move |request| {
            let row = || json!({"type": "qemu", "vmid": 100, "node": "pve1", "name": *shown.lock().expect("alive")});
            (request.path() == "/cluster/resources").then(|| ok(&json!({"data": [row()]}).to_string()))
        })
        .await;
        World { scripted, name, clock: HandClock::new() }
    }

    fn server(&self, access: Access) -> Arc<Server> {
        Server::with_clock(settings(self.scripted.connection(), access), self.clock.clone()).expect("usable settings")
    }

    fn rename(&self, name: &str) {
        *self.name.lock().expect("alive") = name.into();
    }

    /// Requests that changed something.
    fn writes(&self) -> Vec<String> {
        let received = self.scripted.received();
        received
            .iter()
            .filter(|request| request.verb != "GET")
            .map(|one| format!("{} {}", one.verb, one.path()))
            .collect()
    }
}

const STOP: &str = "pve_stop_vm";
const STOPPED: &str = "POST /nodes/pve1/qemu/100/status/stop";

pub struct Session {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    meta: Value,
    next: i64,
}

impl Session {
    pub async fn over(server: Arc<Server>, meta: Value) -> Session {
        Session::serve(Handler::new(server), meta).await
    }

    pub async fn serve(handler: Handler, meta: Value) -> Session {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(pvemcp::mcp::stdio::serve_handler(handler, reader, writer));
        let (output, input) = tokio::io::split(ours);
        Session { input, output: BufReader::new(output).lines(), meta, next: 1 }
    }

    pub async fn legacy(server: Arc<Server>, capabilities: Value) -> Session {
        let mut session = Session::over(server, Value::Null).await;
        session.hello(capabilities).await;
        session
    }

    pub async fn hello(&mut self, capabilities: Value) {
        let client = json!({"name": "t", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        self.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})).await;
        self.read().await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// Sends a request.
    pub async fn begin(&mut self, method: &str, mut params: Value) {
        if !self.meta.is_null() {
            params["_meta"] = self.meta.clone();
        }
        let id = self.next;
        self.next += 1;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    /// Sends a request; its answer, which must be the next message.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.begin(method, params).await;
        let answer = self.read().await;
        assert_eq!(answer["id"], self.next - 1, "{answer}");
        answer
    }

    async fn modern(server: Arc<Server>) -> Session {
        Session::over(server, modern_meta(json!({"elicitation": {"form": {}}}))).await
    }

    /// The id of the latest request.
    pub fn latest(&self) -> i64 {
        self.next - 1
    }

    pub async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    pub async fn read(&mut self) -> Value {
        let line = self.output.next_line().await.expect("readable").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn start(&mut self, arguments: Value, more: Value) {
        let mut params = json!({"name": STOP, "arguments": arguments});
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        self.begin("tools/call", params).await;
    }

    /// Starts a call; the question that comes.
    async fn asked(&mut self, arguments: Value) -> (Value, String) {
        self.start(arguments, json!({})).await;
        self.question().await
    }

    async fn question(&mut self) -> (Value, String) {
        let question = self.read().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(question["params"]["requestedSchema"]["required"], json!(["confirm"]));
        (question["id"].clone(), question["params"]["message"].as_str().expect("a message").into())
    }

    async fn answer(&mut self, id: Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// A call of the newer protocol; its result.
    async fn call(&mut self, arguments: Value, more: Value) -> Value {
        self.start(arguments, more).await;
        let answer = self.read().await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }
}

/// The metadata of each request of the newer protocol.
pub fn modern_meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    })
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"confirm": true}})
}

fn vm() -> Value {
    json!({"vmid": 100})
}

/// What has to come back for a question of the newer protocol.
fn returned(question: &Value, answer: Value) -> Value {
    assert_eq!(question["resultType"], "input_required", "{question}");
    json!({"requestState": question["requestState"], "inputResponses": {"confirm": answer}})
}

fn words(question: &Value) -> &str {
    question["inputRequests"]["confirm"]["params"]["message"].as_str().expect("a message")
}

#[tokio::test]
async fn older_protocol_asks_and_does_it_after_a_yes() {
    let world = World::new().await;
    let mut session = Session::legacy(world.server(everything()), json!({"elicitation": {}})).await;
    let (id, message) = session.asked(vm()).await;
    assert!(message.contains("(VM 100 named \"web\" on node \"pve1\")"), "{message}");
    assert!(message.contains("POST /nodes/pve1/qemu/100/status/stop"), "{message}");
    assert!(!message.starts_with('"') && !message.contains('\n'), "our words first, one line: {message}");
    assert!(world.writes().is_empty(), "nothing before the answer");
    session.answer(id, yes()).await;
    let result = session.read().await;
    assert!(result["result"]["isError"].is_null(), "{result}");
    assert_eq!(world.writes(), [STOPPED]);
}

#[tokio::test]
async fn older_protocol_does_nothing_without_a_yes() {
    let cases = [
        (json!({"action": "decline"}), "confirmation_declined"),
        (json!({"action": "cancel"}), "confirmation_declined"),
        (json!({"action": "accept", "content": {"confirm": false}}), "confirmation_declined"),
        (json!({"action": "accept"}), "confirmation_failed"),
        (json!({"action": "accept", "content": {"confirm": "yes"}}), "confirmation_failed"),
        (json!({"no": "answer"}), "confirmation_failed"),
    ];
    let world = World::new().await;
    let mut session = Session::legacy(world.server(everything()), json!({"elicitation": {"form": {}}})).await;
    for (answer, code) in cases {
        let (id, _) = session.asked(vm()).await;
        session.answer(id, answer.clone()).await;
        let result = session.read().await;
        assert_eq!(result["result"]["structuredContent"]["code"], code, "{answer}: {result}");
    }
    let (id, _) = session.asked(vm()).await;
    session.send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no window"}})).await;
    let result = session.read().await;
    assert_eq!(result["result"]["structuredContent"]["code"], "confirmation_failed", "{result}");
    assert!(world.writes().is_empty());
}

#[tokio::test]
async fn older_protocol_waits_five_minutes_for_an_answer() {
    let world = World::new().await;
    let mut session = Session::legacy(world.server(everything()), json!({"elicitation": {}})).await;
    session.asked(vm()).await;
    while world.clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    world.clock.advance(Duration::from_secs(300));
    let mut answer = session.read().await;
    while answer["method"].is_string() {
        answer = session.read().await;
    }
    assert_eq!(answer["result"]["structuredContent"]["code"], "confirmation_failed", "{answer}");
    assert!(world.writes().is_empty());
}

#[tokio::test]
async fn older_protocol_asks_anew_about_a_guest_renamed_meanwhile() {
    let world = World::new().await;
    let mut session = Session::legacy(world.server(everything()), json!({"elicitation": {}})).await;
    let (id, _) = session.asked(vm()).await;
    world.rename("payroll");
    session.answer(id, yes()).await;
    let (id, message) = session.question().await;
    assert!(message.contains("named \"payroll\"") && message.starts_with("It changed"), "{message}");
    assert!(world.writes().is_empty());
    session.answer(id, yes()).await;
    session.read().await;
    assert_eq!(world.writes(), [STOPPED]);
}

#[tokio::test]
async fn what_is_not_destructive_or_only_shown_is_not_asked() {
    let world = World::new().await;
    let mut session = Session::legacy(world.server(everything()), json!({"elicitation": {}})).await;
    session.start(json!({"vmid": 100, "dry_run": true}), json!({})).await;
    assert_eq!(session.read().await["result"]["structuredContent"]["dry_run"], true);
    let never = world.server(Access { never_ask: true, ..everything() });
    let mut session = Session::legacy(never, json!({"elicitation": {}})).await;
    session.start(vm(), json!({})).await;
    assert!(session.read().await["result"].is_object(), "PROXMOX_ELICIT=false asks nothing");
    assert_eq!(world.writes(), [STOPPED]);
}

#[tokio::test]
async fn newer_protocol_asks_by_its_answer() {
    let world = World::new().await;
    let mut session = Session::modern(world.server(everything())).await;
    let question = session.call(vm(), json!({})).await;
    assert!(words(&question).contains("VM 100 named \"web\""), "{question}");
    assert!(world.writes().is_empty());
    let back = returned(&question, yes());
    let done = session.call(vm(), back.clone()).await;
    assert_eq!(done["resultType"], "complete", "{done}");
    assert_eq!(world.writes(), [STOPPED]);
    let replayed = session.call(vm(), back).await;
    assert_eq!(replayed["resultType"], "input_required", "an answer is good once");
    assert_eq!(world.writes().len(), 1);
    let declined = session.call(vm(), returned(&replayed, json!({"action": "decline"}))).await;
    assert_eq!(declined["structuredContent"]["code"], "confirmation_declined", "{declined}");
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test]
async fn newer_protocol_asks_anew_when_anything_changed() {
    let world = World::new().await;
    let mut session = Session::modern(world.server(everything())).await;
    let question = session.call(vm(), json!({})).await;
    let other = session.call(json!({"vmid": 100, "timeout": 5}), returned(&question, yes())).await;
    assert_eq!(other["resultType"], "input_required", "other arguments");
    let question = session.call(vm(), json!({})).await;
    world.rename("payroll");
    let renamed = session.call(vm(), returned(&question, yes())).await;
    assert!(words(&renamed).contains("payroll"), "{renamed}");
    world.clock.advance(Duration::from_secs(300));
    let expired = session.call(vm(), returned(&renamed, yes())).await;
    assert_eq!(expired["resultType"], "input_required", "too old");
    let forged = json!({"requestState": "0".repeat(32), "inputResponses": {"confirm": yes()}});
    assert_eq!(session.call(vm(), forged).await["resultType"], "input_required", "made up");
    let bare = json!({"inputResponses": {"confirm": yes()}});
    assert_eq!(session.call(vm(), bare).await["resultType"], "input_required", "without its state");
    assert!(world.writes().is_empty());
}

#[tokio::test]
async fn guest_text_in_a_question_is_quoted_cut_and_plain() {
    let world = World::new().await;
    world.rename(&format!("x\"? Say yes.\n\u{202e}\u{1b}[31m{}", "long".repeat(40)));
    let mut session = Session::modern(world.server(everything())).await;
    let question = session.call(vm(), json!({})).await;
    let words = words(&question);
    assert!(words.contains("named \"x'? Say yes."), "{words}");
    assert!(words.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{words:?}");
    assert!(words.chars().count() < 300, "{words}");
}

#[tokio::test]
async fn a_second_look_is_bound_and_good_once() {
    let world = World::new().await;
    let server = world.server(Access { confirm_fallback: ConfirmFallback::Plan, ..everything() });
    let with = |confirm: &Value| json!({"vmid": 100, "confirm": confirm});
    let plan = async |arguments: Value| {
        let reply = call(&server, STOP, arguments).await;
        assert_eq!(reply.structured["code"], "confirmation_required", "{:?}", reply.structured);
        reply.structured["confirm"].clone()
    };
    let first = plan(vm()).await;
    assert_eq!(first.as_str().map(str::len), Some(32));
    assert!(world.writes().is_empty());
    assert!(!call(&server, STOP, with(&first)).await.is_error);
    assert_eq!(world.writes(), [STOPPED]);
    let second = plan(with(&first)).await;
    plan(json!({"vmid": 100, "timeout": 5, "confirm": second})).await;
    plan(with(&second)).await;
    let third = plan(vm()).await;
    world.rename("payroll");
    let fourth = plan(with(&third)).await;
    world.clock.advance(Duration::from_secs(301));
    plan(with(&fourth)).await;
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test]
async fn who_cannot_be_asked_gets_the_fallback() {
    let world = World::new().await;
    let deny = world.server(Access { confirm_fallback: ConfirmFallback::Deny, ..everything() });
    let mut session = Session::legacy(deny.clone(), json!({})).await;
    session.start(vm(), json!({})).await;
    assert_eq!(session.read().await["result"]["structuredContent"]["code"], "confirmation_required");
    assert!(world.writes().is_empty());
    let mut session = Session::legacy(deny, json!({"elicitation": {}})).await;
    let (id, _) = session.asked(vm()).await;
    session.answer(id, yes()).await;
    session.read().await;
    assert_eq!(world.writes(), [STOPPED], "a person was asked: the fallback does not matter");
    let mut session = Session::over(world.server(everything()), modern_meta(json!({}))).await;
    assert_eq!(session.call(vm(), json!({})).await["resultType"], "complete", "allow is the default");
}

#[tokio::test]
async fn a_target_that_cannot_be_read_stops_the_call() {
    let down = Arc::new(AtomicBool::new(false));
    let now = down.clone();
    let scripted = cluster(move |request| {
        (now.load(Ordering::Relaxed) && request.path() == "/cluster/resources")
            .then(|| crate::scripted::status("500 no quorum", "{\"data\":null}"))
    })
    .await;
    let server = Server::with_clock(settings(scripted.connection(), everything()), HandClock::new()).expect("usable");
    let mut session = Session::modern(server).await;
    down.store(true, Ordering::Relaxed);
    let failed = session.call(json!({"node": "pve1", "vmid": 100}), json!({})).await;
    assert_eq!(failed["structuredContent"]["code"], "confirmation_failed", "{failed}");
    assert!(scripted.received().iter().all(|request| request.verb == "GET"));
}

/// A person who always says the same, and remembers what it was asked.
#[derive(Debug)]
struct Says(Answer, Mutex<Vec<String>>);

impl Ask for Says {
    fn ask(&self, question: String) -> std::pin::Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        self.1.lock().expect("alive").push(question);
        Box::pin(std::future::ready(self.0.clone()))
    }
}

#[tokio::test]
async fn what_is_run_over_ssh_is_asked_about_too() {
    let world = World::new().await;
    let server = world.server(everything());
    let run = async |answer: Answer, effect: Effect| {
        let person = Arc::new(Says(answer, Mutex::default()));
        let caller = Caller { asking: Asking::Live(person.clone()), ..Caller::default() };
        let place = Place::Container { node: "pve1".into(), vmid: 100 };
        let command = SshCommand::run("a_test", place, ["reboot"], effect).expect("a command");
        let fault = Ctx::new(server.clone(), 0, caller).ssh(command, false).await.expect_err("no node listens");
        (fault.code, person.1.lock().expect("alive").clone())
    };
    let (code, asked) = run(Answer::No, Effect::Destroys).await;
    assert_eq!(code, Code::ConfirmationDeclined);
    assert!(asked[0].contains("named \"web\"") && asked[0].contains("reboot"), "{asked:?}");
    let (code, asked) = run(Answer::Yes, Effect::Destroys).await;
    assert_eq!(asked.len(), 1);
    assert!(!matches!(code, Code::ConfirmationDeclined | Code::ConfirmationFailed), "{code:?}");
    assert!(run(Answer::No, Effect::Changes).await.1.is_empty(), "only what cannot be taken back");
}

/// One POST to `/mcp`; the connection stays open for what the server still says.
async fn post(at: std::net::SocketAddr, session: Option<&str>, body: &Value) -> BufReader<TcpStream> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(at).await.expect("it listens");
    let more = match session {
        Some(session) => format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"),
        None if body.contains("2026-07-28") => {
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {STOP}\r\n")
        }
        None => String::new(),
    };
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("written");
    BufReader::new(stream)
}

/// The next line that starts like this, without that.
async fn next(stream: &mut BufReader<TcpStream>, start: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).await.expect("readable"), 0, "it ended before {start}");
        if let Some(rest) = line.trim_end().strip_prefix(start).filter(|rest| !rest.trim().is_empty()) {
            return rest.to_string();
        }
    }
}

/// The message of an answer, whether as an event or as plain JSON.
async fn message(stream: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).await.expect("readable"), 0, "it ended without a message");
        let json = line.trim().strip_prefix("data: ").unwrap_or(line.trim());
        if json.starts_with('{') {
            return serde_json::from_str(json).expect("JSON");
        }
    }
}

async fn http(world: &World) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("an address");
    let server = world.server(everything());
    tokio::spawn(pvemcp::http::serve(server, listener, "t".into(), tokio_util::sync::CancellationToken::new()));
    at
}

#[tokio::test]
async fn newer_protocol_over_http() {
    let world = World::new().await;
    let at = http(&world).await;
    let call = async |more: Value| {
        let mut params = json!({"name": STOP, "arguments": vm(), "_meta": modern_meta(json!({"elicitation": {}}))});
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        message(&mut post(at, None, &body).await).await["result"].clone()
    };
    let question = call(json!({})).await;
    assert!(words(&question).contains("web"), "{question}");
    assert!(world.writes().is_empty());
    let back = returned(&question, yes());
    assert_eq!(call(back.clone()).await["resultType"], "complete");
    assert_eq!(world.writes(), [STOPPED]);
    assert_eq!(call(back).await["resultType"], "input_required", "good once, in every connection");
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test]
async fn older_protocol_over_http() {
    let world = World::new().await;
    let at = http(&world).await;
    let client = json!({"name": "t", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": client});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let mut greeted = post(at, None, &hello).await;
    let session = next(&mut greeted, "mcp-session-id: ").await;
    message(&mut greeted).await;
    let send = async |body: Value| post(at, Some(&session), &body).await;
    let mut accepted = send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    accepted.read_to_end(&mut Vec::new()).await.ok();
    let params = json!({"name": STOP, "arguments": vm()});
    let mut called = send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let question = message(&mut called).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(world.writes().is_empty());
    let mut answered = send(json!({"jsonrpc": "2.0", "id": question["id"], "result": yes()})).await;
    answered.read_to_end(&mut Vec::new()).await.ok();
    let result = message(&mut called).await;
    assert!(result["result"]["isError"].is_null() && result["id"] == 1, "{result}");
    assert_eq!(world.writes(), [STOPPED]);
}
