//! The workflows, each against the fake cluster over HTTPS, in process.

mod checks;
mod finding;
mod guests;
mod keeping;
mod provisioning;
mod trouble;

use std::sync::Arc;

use fake_pve::{FakePve, Mode, Scenario};
use pve_catalog::permission::Role;
use pvemcp::config::{Connection, Credentials, Tls};
use pvemcp::server::Server;
use serde_json::Value;

use crate::served;

/// A cluster whose clock stands at noon of 2026-12-01.
async fn still(scenario: Scenario) -> FakePve {
    FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster")
}

/// A cluster in which tasks end when somebody looks.
async fn lively(scenario: Scenario) -> FakePve {
    FakePve::builder().scenario(scenario).start().await.expect("a cluster")
}

fn connection(fake: &FakePve, credentials: Credentials) -> Connection {
    Connection { url: fake.url(), credentials, tls: Tls::Off, ..served::nowhere() }
}

const CHECKER: (&str, &str) = ("checker@pve!mcp", "33333333-4444-5555-6666-777777777777");

/// Leaves no token of root's in the cluster, which would be a finding itself, and gives a token what the checks need.
fn with_checker(fake: &FakePve) -> Arc<Server> {
    fake.world(|world| {
        let access = &mut world.access;
        if let Some(root) = access.config.users.get_mut("root@pam") {
            root.tokens.clear();
        }
        let (id, secret) = CHECKER;
        let privileges =
            ["Sys.Audit", "Sys.Modify", "Datastore.Audit", "VM.Audit", "VM.Backup", "Datastore.AllocateSpace"];
        access.config.roles.insert("Checks".into(), Role { privileges: privileges.map(String::from).into() });
        access.add_token(id, secret, true);
        access.grant("/", "checker@pve", "Checks");
        access.grant_token("/", id, "Checks");
        let user = access.config.users.get_mut("checker@pve").expect("just made");
        user.tokens.get_mut("mcp").expect("just made").expire = 2_208_988_800;
    });
    let credentials = Credentials::Token { id: CHECKER.0.into(), secret: CHECKER.1.into() };
    served::server(served::settings(connection(fake, credentials), served::everything()))
}

/// A server with every gate open that may do everything.
fn as_root(fake: &FakePve) -> Arc<Server> {
    served::server(served::settings(connection(fake, root_token(fake)), served::everything()))
}

fn root_token(fake: &FakePve) -> Credentials {
    let given = fake.credentials();
    let id = format!("root@pam!{}", given.token_name);
    Credentials::Token { id, secret: given.token_secret.clone().into() }
}

/// The same with the token that may only read.
fn as_reader(fake: &FakePve) -> Arc<Server> {
    let credentials =
        Credentials::Token { id: "reader@pve!ro".into(), secret: "11111111-2222-3333-4444-555555555555".into() };
    served::server(served::settings(connection(fake, credentials), served::everything()))
}

/// The text of an answer, with the parts that differ from run to run left out.
async fn text(server: &Arc<Server>, tool: &str, arguments: Value) -> String {
    served::call(server, tool, arguments).await.text
}
