//! The shells of a rehearsal's nodes: fake SSH servers over the same cluster, where commands can be confined.

use fake_pve::FakePve;
#[cfg(target_os = "linux")]
use fake_ssh::FakeSsh;
#[cfg(target_os = "linux")]
use secrecy::SecretString;

use crate::config::Instance;

/// What there is of them.
pub struct Shells {
    #[cfg(target_os = "linux")]
    ssh: Option<FakeSsh>,
    missing: Option<String>,
}

impl Shells {
    /// Starts them beside a cluster. Where they cannot be, a rehearsal goes without.
    #[cfg(target_os = "linux")]
    pub async fn beside(cluster: &FakePve) -> Shells {
        match FakeSsh::builder().join(cluster).start().await {
            Ok(ssh) => Shells { ssh: Some(ssh), missing: None },
            Err(error) => Shells { ssh: None, missing: Some(error.to_string()) },
        }
    }

    /// There are none: their sandboxes need Linux.
    #[cfg(not(target_os = "linux"))]
    pub async fn beside(_cluster: &FakePve) -> Shells {
        Shells { missing: Some("the nodes' shells run on Linux only".into()) }
    }

    /// Why there are none.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Points the settings of a cluster at them: addresses, pinned host keys, a password of this rehearsal's own.
    pub fn tell(&self, instance: &mut Instance) {
        if self.missing.is_some() {
            instance.access.ssh = false;
        }
        #[cfg(target_os = "linux")]
        for (name, node) in self.ssh.iter().flat_map(|ssh| ssh.nodes()) {
            let settings = &mut instance.ssh;
            settings.nodes.extend(node.address.to_string().parse().ok().map(|address| (name.clone(), address)));
            settings.pins.extend(node.fingerprint.parse().ok().map(|pin| (name.clone(), vec![pin])));
            settings.login.password = self.ssh.as_ref().map(|ssh| SecretString::from(ssh.password()));
        }
    }
}
