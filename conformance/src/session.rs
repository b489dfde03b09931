//! A small MCP client over any pair of streams: JSON lines, the handshake of the older era.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};
use tokio::process::Child;

/// The newest revision with a handshake.
const REVISION: &str = "2025-11-25";
/// Nothing in a rehearsal takes longer: time there is virtual. A server that hangs must not hang the trial.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The stream broke.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// The server is gone.
    #[error("the server ended the connection")]
    Ended,
    /// No answer in time.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Silent,
    /// The line is no JSON.
    #[error("the server wrote a line that is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A protocol error.
    #[error("protocol error: {0}")]
    Protocol(Value),
}

/// One connection.
pub struct Session {
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    next_id: u64,
    /// The server, when it is a process of ours: it ends with the session.
    _child: Option<Child>,
}

/// What a tool answered.
#[derive(Debug, Clone)]
pub struct Called {
    /// `structuredContent`.
    pub structured: Value,
    /// `isError`.
    pub is_error: bool,
    /// The whole result as text, for looking for what must not be in it.
    pub raw: String,
}

impl Called {
    /// The code of an error result.
    pub fn code(&self) -> &str {
        self.structured["code"].as_str().unwrap_or_default()
    }
}

impl Session {
    /// Shakes hands.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn open(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Session, SessionError> {
        let output: Box<dyn AsyncRead + Send + Unpin> = Box::new(output);
        let mut session =
            Session { input: Box::new(input), output: BufReader::new(output).lines(), next_id: 1, _child: None };
        let client = json!({"name": "conformance", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
        session.request("initialize", hello).await?;
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(session)
    }

    /// Keeps a child process as long as the session.
    pub fn holding(mut self, child: Child) -> Session {
        self._child = Some(child);
        self
    }

    /// One request and its result; notifications in between are passed over.
    ///
    /// # Errors
    /// A protocol error, a broken connection, silence.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, SessionError> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        loop {
            let mut answer = self.receive().await?;
            if answer["id"] != id {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(SessionError::Protocol(error.clone())),
                None => Ok(answer["result"].take()),
            };
        }
    }

    /// Every tool, all pages.
    ///
    /// # Errors
    /// As [`Session::request`].
    pub async fn tools(&mut self) -> Result<Vec<Value>, SessionError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.request("tools/list", params).await?;
            if let Value::Array(some) = page["tools"].take() {
                tools.extend(some);
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(tools),
            }
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`Session::request`]; a tool's own error is a result.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Called, SessionError> {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        Ok(Called {
            is_error: result["isError"] == true,
            raw: result.to_string(),
            structured: result["structuredContent"].clone(),
        })
    }

    async fn send(&mut self, message: &Value) -> Result<(), SessionError> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    async fn receive(&mut self) -> Result<Value, SessionError> {
        let line =
            tokio::time::timeout(PATIENCE, self.output.next_line()).await.map_err(|_| SessionError::Silent)??;
        Ok(serde_json::from_str(&line.ok_or(SessionError::Ended)?)?)
    }
}
