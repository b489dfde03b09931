//! Questions to a person: a server request in the older protocol, an input-required result in the newer.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;

use crate::tools::confirm::{Answer, Ask, Asking, Exchange, Wanted};

/// What the question is called in the newer protocol, and its only field in both.
const FIELD: &str = "confirm";

/// How this client can be asked; `answers` and `state` are what the call brought along.
pub fn of(cx: &RequestContext<RoleServer>, answers: Option<InputResponses>, state: Option<String>) -> Asking {
    let capability = cx.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    // A client that names neither form nor URL knows forms.
    if !capability.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Asking::Nobody;
    }
    if !is_modern(cx) {
        return Asking::Live(Arc::new(Person(cx.peer.clone())));
    }
    let answer = answers.and_then(|mut answers| answers.remove(FIELD)).map(|answer| read(&answer));
    Asking::Again(Arc::new(Exchange::new(state.zip(answer))))
}

/// Whether the request is of the newer protocol.
pub fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The question as the answer to a call.
pub fn question(wanted: Wanted) -> Option<CallToolResponse> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(wanted.question)?));
    let requests = BTreeMap::from([(FIELD.to_string(), request)]);
    Some(InputRequiredResult::new(Some(requests), Some(wanted.state)).into())
}

fn form(message: String) -> Option<ElicitRequestParams> {
    let requested_schema = ElicitationSchema::builder().required_bool(FIELD).build().ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn read(answer: &Value) -> Answer {
    match serde_json::from_value::<ElicitResult>(answer.clone()) {
        Ok(result) => said(&result),
        Err(_) => Answer::Failed("what came back is no answer to a form".into()),
    }
}

/// Only an accepted form with a yes in it is a yes.
fn said(result: &ElicitResult) -> Answer {
    let ticked = result.content.as_ref().and_then(|content| content.get(FIELD));
    match (&result.action, ticked) {
        (ElicitationAction::Accept, Some(Value::Bool(true))) => Answer::Yes,
        (ElicitationAction::Accept, Some(Value::Bool(false))) => Answer::No,
        (ElicitationAction::Accept, _) => Answer::Failed("the form came back without its answer".into()),
        _ => Answer::No,
    }
}

/// The person behind a client of the older protocol.
struct Person(Peer<RoleServer>);

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person")
    }
}

impl Ask for Person {
    fn ask(&self, question: String) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let Some(form) = form(question) else { return Answer::Failed("the question could not be made".into()) };
            match self.0.create_elicitation(form).await {
                Ok(result) => said(&result),
                Err(error) => Answer::Failed(error.to_string()),
            }
        })
    }
}
