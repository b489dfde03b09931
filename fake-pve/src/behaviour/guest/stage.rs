//! Where guests are changed: in a call, or in the worker of its task. Both know the world, the caller and the time.

use crate::access;
use crate::behaviour::{Call, Failure};
use crate::work::Run;
use crate::world::{Guest, World};

/// A call or a worker.
pub(crate) trait Stage {
    /// The cluster.
    fn world(&self) -> &World;
    /// The cluster, to change.
    fn world_mut(&mut self) -> &mut World;
    /// Who asks.
    fn who(&self) -> &str;
    /// Virtual seconds since the epoch.
    fn time(&self) -> i64;
    /// The node that does it.
    fn at(&self) -> String;
    /// Writes a line to the task's log; a call has none.
    fn tell(&mut self, line: &str);

    /// Writes lines.
    fn tell_all(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.tell(line));
    }

    /// Whether it is root itself.
    fn by_root(&self) -> bool {
        self.who() == pve_catalog::permission::ROOT
    }

    /// Whether the caller holds one of some privileges.
    fn holds(&self, path: &str, privileges: &[&str]) -> bool {
        self.by_root() || access::holds_any(&self.world().access.config, self.who(), path, privileges)
    }

    /// Refuses unless the caller holds all of some privileges.
    ///
    /// # Errors
    /// 403 with the first missing one.
    fn need(&self, path: &str, privileges: &[&str]) -> Result<(), Failure> {
        if self.by_root() {
            return Ok(());
        }
        match access::lacks(&self.world().access.config, self.who(), path, privileges) {
            Some(privilege) => Err(Failure::denied(&format!("{path}, {privilege}"))),
            None => Ok(()),
        }
    }

    /// Refuses unless the caller holds one of some privileges.
    ///
    /// # Errors
    /// 403 that names them all.
    fn need_any(&self, path: &str, privileges: &[&str]) -> Result<(), Failure> {
        if self.holds(path, privileges) {
            return Ok(());
        }
        Err(Failure::denied(&format!("{path}, {}", privileges.join("|"))))
    }

    /// Refuses a privilege on a guest that its future pool may give as well.
    ///
    /// # Errors
    /// 403 about the guest.
    fn need_on_guest(&self, vmid: u32, pool: Option<&str>, privilege: &str) -> Result<(), Failure> {
        let by_pool = pool.is_some_and(|pool| self.holds(&format!("/pool/{pool}"), &[privilege]));
        if by_pool { Ok(()) } else { self.need(&format!("/vms/{vmid}"), &[privilege]) }
    }

    /// A guest, to change; it is known to exist.
    ///
    /// # Errors
    /// It has gone meanwhile.
    fn guest_mut(&mut self, vmid: u32) -> Result<&mut Guest, Failure> {
        let gone = format!("no such guest '{vmid}'");
        self.world_mut().guests.get_mut(&vmid).ok_or_else(|| Failure::die(gone))
    }
}

impl Stage for Call<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn world_mut(&mut self) -> &mut World {
        self.world
    }

    fn who(&self) -> &str {
        &self.authid
    }

    fn time(&self) -> i64 {
        self.now()
    }

    fn at(&self) -> String {
        self.node()
    }

    fn tell(&mut self, _line: &str) {}
}

impl Stage for Run<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn world_mut(&mut self) -> &mut World {
        self.world
    }

    fn who(&self) -> &str {
        self.user
    }

    fn time(&self) -> i64 {
        self.now
    }

    fn at(&self) -> String {
        self.node.to_string()
    }

    fn tell(&mut self, line: &str) {
        self.log(line);
    }
}

/// A refusal as a task's last line says it: with its status where it is not a plain error, and its parameters.
pub(crate) fn late(failure: Failure) -> String {
    let mut text = match failure.status {
        500 => failure.message,
        status => format!("{status} {}", failure.message),
    };
    for (name, error) in &failure.errors {
        text.push_str(&format!("\n{name}: {}", error.trim_end()));
    }
    text
}
