//! What makes a Debian a Debian, and an Alpine an Alpine, as far as somebody inside can tell.

use std::io;

use super::Tree;

/// A family of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    Debian,
    Ubuntu,
    Alpine,
    Rocky,
    Arch,
}

impl Distribution {
    /// By Proxmox's `ostype`.
    pub fn of(ostype: &str) -> Distribution {
        match ostype {
            "ubuntu" => Distribution::Ubuntu,
            "alpine" => Distribution::Alpine,
            "centos" | "fedora" => Distribution::Rocky,
            "archlinux" => Distribution::Arch,
            _ => Distribution::Debian,
        }
    }

    fn release(self) -> &'static str {
        match self {
            Distribution::Debian => {
                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n\
VERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n"
            }
            Distribution::Ubuntu => {
                "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n\
ID=ubuntu\nID_LIKE=debian\n"
            }
            Distribution::Alpine => {
                "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.22.1\nPRETTY_NAME=\"Alpine Linux v3.22\"\n"
            }
            Distribution::Rocky => {
                "NAME=\"Rocky Linux\"\nVERSION=\"9.6 (Blue Onyx)\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n\
VERSION_ID=\"9.6\"\nPLATFORM_ID=\"platform:el9\"\nPRETTY_NAME=\"Rocky Linux 9.6 (Blue Onyx)\"\n"
            }
            Distribution::Arch => "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n",
        }
    }

    /// Whether its tools are BusyBox.
    pub fn busybox(self) -> bool {
        self == Distribution::Alpine
    }

    /// Its package manager and service manager, which are ours.
    pub fn stubs(self) -> &'static [&'static str] {
        match self {
            Distribution::Debian | Distribution::Ubuntu => {
                &["apt", "apt-get", "apt-cache", "dpkg", "dpkg-query", "systemctl", "journalctl", "adduser", "deluser"]
            }
            Distribution::Alpine => {
                &["apk", "rc-service", "rc-update", "rc-status", "adduser", "deluser", "addgroup", "delgroup"]
            }
            Distribution::Rocky => &["dnf", "yum", "rpm", "systemctl", "journalctl"],
            Distribution::Arch => &["pacman", "systemctl", "journalctl"],
        }
    }

    /// Packages of a fresh container, with versions.
    fn packages(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Distribution::Debian => &[
                ("apt", "2.6.1"),
                ("base-files", "12.4+deb12u11"),
                ("bash", "5.2.15-2+b8"),
                ("coreutils", "9.1-1"),
                ("dpkg", "1.21.22"),
                ("openssh-server", "1:9.2p1-2+deb12u7"),
                ("systemd", "252.38-1~deb12u1"),
            ],
            Distribution::Ubuntu => &[
                ("apt", "2.8.3"),
                ("base-files", "13ubuntu10.3"),
                ("bash", "5.2.21-2ubuntu4"),
                ("coreutils", "9.4-3ubuntu6"),
                ("dpkg", "1.22.6ubuntu6.1"),
                ("openssh-server", "1:9.6p1-3ubuntu13.13"),
                ("systemd", "255.4-1ubuntu8.10"),
            ],
            Distribution::Alpine => &[
                ("alpine-base", "3.22.1-r0"),
                ("apk-tools", "2.14.9-r2"),
                ("busybox", "1.37.0-r18"),
                ("musl", "1.2.5-r10"),
                ("openrc", "0.62.6-r0"),
                ("openssh-server", "10.0_p1-r7"),
            ],
            Distribution::Rocky => &[
                ("bash", "5.1.8-9.el9"),
                ("coreutils", "8.32-39.el9"),
                ("dnf", "4.14.0-25.el9"),
                ("openssh-server", "8.7p1-45.el9"),
                ("rpm", "4.16.1.3-37.el9"),
                ("systemd", "252-51.el9_6.1"),
            ],
            Distribution::Arch => &[
                ("bash", "5.3.3-2"),
                ("coreutils", "9.7-1"),
                ("glibc", "2.42-1"),
                ("openssh", "10.0p1-4"),
                ("pacman", "7.0.0.r6.gc685ae6-6"),
                ("systemd", "257.8-2"),
            ],
        }
    }

    /// The service of its SSH server.
    fn sshd(self) -> &'static str {
        match self {
            Distribution::Debian | Distribution::Ubuntu => "ssh",
            _ => "sshd",
        }
    }

    /// Writes what tells it from others.
    pub fn files(self, tree: &Tree) -> io::Result<()> {
        let shell = if self.busybox() { "/bin/sh" } else { "/bin/bash" };
        let nologin = match self {
            Distribution::Debian | Distribution::Ubuntu => "/usr/sbin/nologin",
            Distribution::Arch => "/usr/bin/nologin",
            _ => "/sbin/nologin",
        };
        tree.file("etc/os-release", self.release())?;
        match self {
            Distribution::Debian => tree.file("etc/debian_version", "12.11\n")?,
            Distribution::Alpine => tree.file("etc/alpine-release", "3.22.1\n")?,
            Distribution::Rocky => tree.file("etc/redhat-release", "Rocky Linux release 9.6 (Blue Onyx)\n")?,
            Distribution::Arch => tree.file("etc/arch-release", "")?,
            Distribution::Ubuntu => {}
        }
        let admins = match self {
            Distribution::Debian | Distribution::Ubuntu => "sudo:x:27:\n",
            _ => "wheel:x:10:\n",
        };
        tree.file(
            "etc/passwd",
            &format!(
                "root:x:0:0:root:/root:{shell}\ndaemon:x:1:1:daemon:/usr/sbin:{nologin}\n\
www-data:x:33:33:www-data:/var/www:{nologin}\nnobody:x:65534:65534:nobody:/:{nologin}\n"
            ),
        )?;
        tree.file("etc/group", &format!("root:x:0:\ndaemon:x:1:\n{admins}www-data:x:33:\nnogroup:x:65534:\n"))?;
        tree.file_with(
            "etc/shadow",
            "root:*:20000:0:99999:7:::\ndaemon:*:20000:0:99999:7:::\n\
www-data:*:20000:0:99999:7:::\nnobody:*:20000:0:99999:7:::\n",
            0o640,
        )?;
        tree.file("etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nX11Forwarding yes\n")?;
        tree.folders(&["etc/ssh/sshd_config.d"])?;
        let packages: String = self.packages().iter().map(|(name, version)| format!("{name} {version}\n")).collect();
        tree.file("var/lib/fake/packages", &packages)?;
        let services = format!("{}\ncron\n", self.sshd());
        tree.file("var/lib/fake/services", &services)?;
        tree.file("var/lib/fake/enabled", &services)
    }
}
