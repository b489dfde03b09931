//! The real handler with the tools, prompts and resources beside it that the official conformance suite asks for by name.
//!
//! `suite/fixtures.json` says what each of them answers; whatever is not in it goes to the real handler unchanged.

mod delegate;
mod rounds;

use std::sync::Arc;

use pvemcp::mcp::Handler;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ElicitRequestParams,
    GetPromptRequestParams, GetPromptResponse, ProgressNotificationParam, Prompt, Resource, ResourceContents, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::rounds::Rounds;

/// `fixtures.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tools: Vec<FixtureTool>,
    prompts: Vec<FixturePrompt>,
    resources: Vec<FixtureResource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixtureTool {
    tool: Tool,
    /// What it always answers.
    result: Option<Value>,
    act: Option<Act>,
    /// The form that a client of the older protocol is sent.
    live: Option<ElicitRequestParams>,
    #[serde(flatten)]
    rounds: Rounds,
}

/// What no table can say.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Act {
    Progress,
    WantsSampling,
}

#[derive(Deserialize)]
struct FixturePrompt {
    prompt: Prompt,
    /// With `{argument}` where an argument goes.
    result: Value,
    #[serde(flatten)]
    rounds: Rounds,
}

#[derive(Deserialize)]
struct FixtureResource {
    resource: Resource,
    contents: ResourceContents,
}

/// A handler of MCP; cheap to clone.
#[derive(Clone)]
pub struct Fixtures {
    real: Handler,
    table: Arc<Table>,
}

impl Fixtures {
    /// Around a handler.
    ///
    /// # Panics
    /// When the table is malformed: it is part of the source.
    pub fn around(real: Handler) -> Fixtures {
        let table = include_str!("../suite/fixtures.json");
        Fixtures { real, table: Arc::new(serde_json::from_str(table).expect("fixtures.json has the form it says")) }
    }

    /// One for another session.
    pub fn for_session(&self) -> Fixtures {
        Fixtures { real: self.real.for_session(), table: self.table.clone() }
    }

    fn tool(&self, name: &str) -> Option<&FixtureTool> {
        self.table.tools.iter().find(|fixture| fixture.tool.name == name)
    }

    fn prompt(&self, name: &str) -> Option<&FixturePrompt> {
        self.table.prompts.iter().find(|fixture| fixture.prompt.name == name)
    }

    fn contents(&self, uri: &str) -> Option<ResourceContents> {
        let fixture = self.table.resources.iter().find(|fixture| fixture.resource.uri == uri);
        fixture.map(|fixture| fixture.contents.clone()).or_else(|| from_template(uri))
    }
}

impl FixtureTool {
    async fn call(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(result) = &self.result {
            return parsed::<CallToolResult>(complete(result.clone())).map(Into::into);
        }
        if let Some(form) = &self.live {
            let answer = cx.peer.create_elicitation(form.clone()).await;
            let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            return Ok(said(&format!("the form came back: {answer:?}")));
        }
        match self.act {
            Some(Act::Progress) => progress(&cx).await,
            Some(Act::WantsSampling) => Err(ErrorData::missing_required_client_capability(
                parsed::<ClientCapabilities>(json!({"sampling": {}}))?,
            )),
            None => Ok(match self.rounds.next(request.input_responses, request.request_state)? {
                Some(question) => question.into(),
                None => said("state-ok: everything that was asked is answered"),
            }),
        }
    }
}

impl FixturePrompt {
    fn get(&self, request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
        if let Some(question) = self.rounds.next(request.input_responses, request.request_state)? {
            return Ok(question.into());
        }
        let result = filled(self.result.clone(), &request.arguments.unwrap_or_default());
        parsed::<rmcp::model::GetPromptResult>(complete(result)).map(Into::into)
    }
}

async fn progress(cx: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    if let Some(token) = cx.meta.get_progress_token() {
        for done in [0.0, 50.0, 100.0] {
            let step = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            cx.peer.notify_progress(step).await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
    }
    Ok(said("three steps"))
}

fn said(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// A result as the newer protocol has it; the library takes the mark off for the older one.
fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Every text with its `{argument}`s filled in.
fn filled(value: Value, arguments: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => Value::String(arguments.iter().fold(text, |text, (name, argument)| {
            text.replace(&format!("{{{name}}}"), argument.as_str().unwrap_or_default())
        })),
        Value::Array(items) => items.into_iter().map(|item| filled(item, arguments)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, filled(field, arguments))).collect(),
        other => other,
    }
}

/// `test://template/{id}/data`.
fn from_template(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
    serde_json::from_value(json!({"uri": uri, "mimeType": "application/json", "text": text})).ok()
}
