//! One verified call: the world, the parameters, the caller, the clock.

#![expect(dead_code, reason = "offered to behaviours that are not written yet; remove when all of it is used")]

use pve_catalog::Method;

use super::{Answer, Failure, Params};
use crate::access;
use crate::auth::Keys;
use crate::clock::Clock;
use crate::http::multipart::Upload;
use crate::work::{NewTask, Workers};
use crate::world::World;

/// What a behaviour is given.
pub(crate) struct Call<'a> {
    /// The cluster, to read and change.
    pub world: &'a mut World,
    /// The method of the catalogue.
    pub method: &'static Method,
    /// Verified parameters, those of the path included.
    pub params: Params,
    /// User or full token id; empty for nobody (logins).
    pub authid: String,
    /// The path as it was asked for, beneath the format.
    pub path: String,
    /// The file that an upload brought.
    pub upload: Option<Upload>,
    pub(crate) clock: &'a mut Clock,
    pub(crate) workers: &'a mut Workers,
    pub(crate) keys: &'a Keys,
}

impl Call<'_> {
    /// Virtual seconds since the epoch.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Virtual milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The node that handles the call: the one of the path, else the cluster's entry.
    pub fn node(&self) -> String {
        match self.params.get("node") {
            Some(node) if node != "localhost" => node,
            _ => self.world.entry.clone(),
        }
    }

    /// The guest of the path.
    pub fn vmid(&self) -> u32 {
        self.params.int("vmid").and_then(|vmid| u32::try_from(vmid).ok()).unwrap_or(0)
    }

    /// The caller without the token.
    pub fn user(&self) -> &str {
        self.authid.split('!').next().unwrap_or_default()
    }

    /// Whether the caller is `root@pam` itself (a token is not).
    pub fn is_root(&self) -> bool {
        self.authid == pve_catalog::permission::ROOT
    }

    /// Whether the caller holds one of some privileges on a path.
    pub fn may(&self, path: &str, privileges: &[&str]) -> bool {
        access::holds_any(&self.world.access.config, &self.authid, path, privileges)
    }

    /// Refuses unless the caller holds all of some privileges on a path.
    ///
    /// # Errors
    /// 403 that names the path and the first missing privilege.
    pub fn require(&self, path: &str, privileges: &[&str]) -> Result<(), Failure> {
        match access::lacks(&self.world.access.config, &self.authid, path, privileges) {
            Some(privilege) => Err(Failure::denied(&format!("{path}, {privilege}"))),
            None => Ok(()),
        }
    }

    /// Refuses when a digest was given and the configuration has changed since. An empty one counts as none.
    ///
    /// # Errors
    /// 500 with Proxmox's text.
    pub fn check_digest(&self, current: &str) -> Result<(), Failure> {
        match self.params.get("digest") {
            Some(given) if !given.is_empty() && given != "0" && given != current => Err(stale_digest()),
            _ => Ok(()),
        }
    }

    /// A task of this caller on this node, to be described further and handed to [`Call::start`].
    pub fn task(&self, worker_type: &str, id: &str) -> NewTask {
        NewTask::new(&self.node(), &self.authid, worker_type, id)
    }

    /// Starts a task; the answer is its UPID.
    ///
    /// # Errors
    /// None: what goes wrong in a task is told by the task.
    pub fn start(&mut self, task: NewTask) -> Answer {
        let now_ms = self.now_ms();
        let upid = self.workers.start(self.world, now_ms, task);
        Ok(serde_json::Value::from(upid).into())
    }

    /// Somebody looks at a task: in automatic time the clock runs to its end.
    pub fn look_at_task(&mut self, upid: &str) {
        let ends = self.world.tasks.iter().find(|task| task.upid == upid && task.running()).map(|task| task.ends_ms);
        if let Some(ends_ms) = ends.filter(|_| self.clock.runs_to_end()) {
            self.clock.run_to_ms(ends_ms);
            self.workers.settle(self.world, self.clock.now_ms());
        }
    }

    /// Somebody looks at guests or services that HA manages: in automatic time the clock runs until HA has nothing
    /// more to do, ten minutes at most.
    pub fn let_ha_rest(&mut self) {
        if !self.clock.runs_to_end() {
            return;
        }
        let last = self.now_ms() + 600_000;
        while let Some(next_ms) = self.workers.next_of_ha(self.world).filter(|next_ms| *next_ms <= last) {
            self.clock.run_to_ms(next_ms);
            self.workers.settle(self.world, self.clock.now_ms());
        }
    }

    /// Somebody waits for a moment: in automatic time the clock runs to it.
    pub fn look_at_moment(&mut self, moment_ms: i64) {
        if self.clock.runs_to_end() {
            self.clock.run_to_ms(moment_ms);
            self.workers.settle(self.world, self.clock.now_ms());
        }
    }

    /// Stops a running task.
    pub fn stop_task(&mut self, upid: &str) {
        let now_ms = self.now_ms();
        self.workers.stop(self.world, now_ms, upid);
    }
}

/// The refusal of a stale digest.
pub(crate) fn stale_digest() -> Failure {
    Failure::die("detected modified configuration - file changed by other user? Try again.")
}
