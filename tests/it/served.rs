//! What the tests of tools share: a server over a scripted cluster, and a shorter way to call a tool.

use std::sync::Arc;
use std::time::Duration;

use pvemcp::config::{Access, Connection, Credentials, Instance, Offer, Settings, SshSettings, Tls, all_toolsets};
use pvemcp::server::Server;
use pvemcp::tools::Reply;
use pvemcp::tools::context::Caller;
use serde_json::{Value, json};

use crate::scripted::{self, Act, Received, Scripted, StillClock};

/// Nothing listens there.
pub fn nowhere() -> Connection {
    Connection {
        url: "https://127.0.0.1:1".into(),
        credentials: Credentials::Token { id: scripted::TOKEN_ID.into(), secret: scripted::TOKEN_SECRET.into() },
        tls: Tls::Off,
        timeout: Duration::from_secs(5),
        only_loopback: true,
    }
}

/// Every gate open.
pub fn everything() -> Access {
    Access { writes: true, elevated: true, guest_exec: true, ssh: true, sensitive: true, ..Access::default() }
}

/// Settings for one cluster, with every toolset.
pub fn settings(connection: Connection, access: Access) -> Settings {
    Settings {
        instances: vec![Instance {
            name: "default".into(),
            connection,
            ssh: SshSettings::default(),
            access,
            default_node: None,
            task_wait: Duration::from_secs(30),
        }],
        offer: Offer { toolsets: all_toolsets(), ..Offer::default() },
        catalog: pve_catalog::Catalog::embedded(),
        max_response_chars: 120_000,
        warnings: Vec::new(),
    }
}

/// A server whose clock stands still.
pub fn server(settings: Settings) -> Arc<Server> {
    Server::with_clock(settings, Arc::new(StillClock::default())).expect("usable settings")
}

/// A server that reaches nothing.
pub fn alone(access: Access) -> Arc<Server> {
    server(settings(nowhere(), access))
}

/// A cluster of two nodes with a VM 100 on `pve1`, a container 101 on `pve2`, and whatever else the script adds.
pub async fn cluster(script: impl Fn(&Received) -> Option<Act> + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |_, request| {
        if let Some(act) = script(request) {
            return act;
        }
        match request.path().split('?').next().unwrap_or_default() {
            "/cluster/resources" => scripted::ok(
                r#"{"data":[{"id":"qemu/100","type":"qemu","vmid":100,"node":"pve1","name":"web"},
                            {"id":"lxc/101","type":"lxc","vmid":"101","node":"pve2","name":"db"}]}"#,
            ),
            "/nodes" => {
                scripted::ok(r#"{"data":[{"node":"pve1","status":"online"},{"node":"pve2","status":"online"}]}"#)
            }
            "/version" => scripted::ok(r#"{"data":{"version":"9.2.1","release":"9.2","repoid":"abc"}}"#),
            _ => scripted::ok(r#"{"data":null}"#),
        }
    })
    .await
}

/// A server over that cluster with every gate open.
pub fn over(scripted: &Scripted) -> Arc<Server> {
    server(settings(scripted.connection(), everything()))
}

/// Calls a tool.
pub async fn call(server: &Arc<Server>, tool: &str, arguments: Value) -> Reply {
    let arguments = arguments.as_object().cloned().expect("an object");
    server.call(tool, arguments, Caller::default()).await
}

/// Calls a tool that must succeed; its data.
pub async fn done(server: &Arc<Server>, tool: &str, arguments: Value) -> Value {
    let reply = call(server, tool, arguments).await;
    assert!(!reply.is_error, "{tool}: {}", json!(reply.structured));
    reply.structured.into()
}

/// Calls a tool that must fail with this code; its error.
pub async fn fails(server: &Arc<Server>, tool: &str, arguments: Value, code: &str) -> Value {
    let reply = call(server, tool, arguments).await;
    assert!(reply.is_error, "{tool} did not fail: {}", json!(reply.structured));
    assert_eq!(reply.structured["code"], code, "{}", json!(reply.structured));
    reply.structured.into()
}
